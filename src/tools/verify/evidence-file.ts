import { entryBytes, type EventContent } from '../../tlog/entry.ts';
import { hashBytes } from '../../tlog/hash.ts';
import { NoteError } from '../../tlog/note.ts';

/**
 * A file of `export --evidence`: a head, then a line for each event of the tree in ingest order, with the leaf's entry
 * and the hash of its shown form (base64), and the stored source event byte by byte:
 *
 *     {"auditlog_evidence":1,"origin":"service/…","organization":{"id":"…","slug":"…"},"checkpoint":"…","filtered":false,"policies":[…]}
 *     {"n":0,"entry":"…","shown":"…","source":{…}}
 *     {"n":1,"entry":"…"}
 *
 * Line 1 has no source event: retention removed it, or a filter left it out. `policies` lists the policy events (position,
 * order number, hash, text). After an erasure, lists of changed events (src/tlog/erasure.ts) follow the head in pieces:
 * `{"erasure":0,"list":"…"}` belongs to the first event in `erasures`.
 */
export interface EvidenceHead {
  readonly origin: string;
  readonly organization: { readonly id: string; readonly slug: string };
  readonly checkpoint: string;
  readonly filtered: boolean;
  readonly policies: readonly FileEvent[];
  /** Undefined if no person was erased. `pending`: the erasure was in progress. */
  readonly erasures?: readonly (FileEvent & { readonly pending?: boolean })[];
}

interface FileEvent {
  readonly n: number;
  readonly seq: string;
  readonly shown?: string;
  readonly source: string;
}

const version = 1;
const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;
const beforeNumber = Buffer.from('{"n":');
const afterNumber = Buffer.from(',"entry":"');
const beforeShown = Buffer.from('","shown":"');
const beforeSource = Buffer.from('","source":');
const withoutSource = Buffer.from('"}');
const closing = 0x7d;
const lineEnd = Buffer.from('\n');

export function headLine(head: EvidenceHead): string {
  return `${JSON.stringify({ auditlog_evidence: version, ...head })}\n`;
}

const isText = (value: unknown): value is string => typeof value === 'string';

function isFileEvent(value: unknown): boolean {
  const { n, seq, shown = '', source } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return Number.isSafeInteger(n) && isText(seq) && /^\d{1,20}$/.test(seq) && isText(shown) && isText(source);
}

/** The first line of a file; undefined for another kind of file. Throws a NoteError if damaged. */
export function evidenceHead(line: Buffer): EvidenceHead | undefined {
  if (line.toString('latin1', 0, 23) !== `{"auditlog_evidence":${version},`) return undefined;
  const damaged = new NoteError('the first line of the file is not in the format of exports');
  let head: EvidenceHead;
  try {
    head = JSON.parse(line.toString('utf8')) as EvidenceHead;
  } catch {
    throw damaged;
  }
  const { origin, organization, checkpoint, filtered, policies, erasures = [] } = head;
  const isWhole =
    [origin, organization?.id, organization?.slug, checkpoint].every(isText) &&
    typeof filtered === 'boolean' &&
    [policies, erasures].every((list) => Array.isArray(list) && list.every(isFileEvent));
  if (!isWhole) throw damaged;
  return { origin, organization, checkpoint, filtered, policies, erasures };
}

const beforeErasure = Buffer.from('{"erasure":');

export function erasureLine(erasure: number, list: Buffer): string {
  return `${JSON.stringify({ erasure, list: list.toString('base64') })}\n`;
}

/** Parses such a line; undefined for any other. */
export function readErasureLine(
  line: Buffer,
): { readonly erasure: number; readonly list: Buffer } | undefined {
  if (!hasAt(line, beforeErasure, 0)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(line.toString('utf8'));
  } catch {
    // Not in an export's layout: reported like any such line.
    return undefined;
  }
  const { erasure, list } = value as { readonly erasure: unknown; readonly list: unknown };
  if (typeof erasure !== 'number' || typeof list !== 'string') return undefined;
  return { erasure, list: Buffer.from(list, 'base64') };
}

export function eventLine(position: number, entry: Buffer, event: StoredContent | undefined): Buffer[] {
  const start = [
    beforeNumber,
    Buffer.from(String(position)),
    afterNumber,
    Buffer.from(entry.toString('base64')),
  ];
  if (event === undefined) return [...start, withoutSource, lineEnd];
  const shown = Buffer.from(event.shown.toString('base64'));
  return [...start, beforeShown, shown, beforeSource, event.source, Buffer.from('}'), lineEnd];
}

export interface StoredContent extends EventContent {
  readonly source: Buffer;
  readonly shown: Buffer;
}

interface EventLine {
  readonly position: number;
  readonly event: StoredContent | undefined;
}

function hasAt(line: Buffer, expected: Buffer, at: number): boolean {
  for (let n = 0; n < expected.length; n++) if (line[at + n] !== expected[n]) return false;
  return true;
}

function numberIn(line: Buffer, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = (line[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9 || (digit === 0 && at === from && to > from + 1)) return Number.NaN;
    value = value * 10 + digit;
  }
  return to > from && Number.isSafeInteger(value) ? value : Number.NaN;
}

/**
 * Parses a line by positions, its entry into `entries`: parsing JSON would take longer than hashing.
 * Undefined for any other line.
 */
export function readLine(line: Buffer, entries: Buffer, place: number): EventLine | undefined {
  const comma = line.indexOf(0x2c);
  const position = numberIn(line, beforeNumber.length, comma);
  const from = comma + afterNumber.length;
  const to = from + base64Length(entryBytes);
  if (Number.isNaN(position) || !hasAt(line, beforeNumber, 0) || !hasAt(line, afterNumber, comma))
    return undefined;
  const base64 = line.toString('latin1', from, to);
  if (entries.write(base64, place * entryBytes, entryBytes, 'base64') !== entryBytes) return undefined;
  const isWhole = line.length === to + withoutSource.length && hasAt(line, withoutSource, to);
  if (isWhole) return { position, event: undefined };
  const event = contentIn(line, to);
  return event && { position, event };
}

function contentIn(line: Buffer, at: number): StoredContent | undefined {
  const from = at + beforeShown.length;
  const to = from + base64Length(hashBytes);
  if (!hasAt(line, beforeShown, at) || !hasAt(line, beforeSource, to) || line.at(-1) !== closing)
    return undefined;
  const shown = Buffer.from(line.toString('latin1', from, to), 'base64');
  if (shown.length !== hashBytes) return undefined;
  return { shown, source: line.subarray(to + beforeSource.length, -1) };
}
