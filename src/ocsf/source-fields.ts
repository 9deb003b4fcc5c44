import type { Window } from './byte-text.ts';
import {
  type Cursor,
  closeBrace,
  codeAt,
  comma,
  createCursor,
  failExpected,
  keyIs,
  noBytes,
  numberValue,
  openBrace,
  openBracket,
  openCursor,
  outPosition,
  quote,
  scanKey,
  scanScalar,
  scanString,
  skipSpace,
  stringValue,
} from './json-cursor.ts';
import { describeFault, finish, isAtEnd, isTooDeep, skipMember, skipValue } from './json-text.ts';
import type { KeyTest } from './redact.ts';

/**
 * One pass over a source event: checks every token, minifies, redacts, and keeps the values of the fields that the
 * service knows. They go into slots, one a field, numbered in the order of this list:
 *
 *   time · level · msg · message ┬ timestamp
 *                                ├ actor ┬ id
 *                                ┆       ┆
 *
 * A field's own slot is followed by those of its members, so that a name which appears twice clears with one loop
 * what its first value left (the last one counts, as everywhere in JSON).
 */
const fieldPaths = [
  'time',
  'level',
  'msg',
  'message',
  'message.timestamp',
  'message.actor',
  'message.actor.id',
  'message.actor.name',
  'message.actor.email',
  'message.actor.type',
  'message.action',
  'message.action.code',
  'message.action.title',
  'message.target',
  'message.target.id',
  'message.target.name',
  'message.target.type',
  'message.result',
  'message.result.title',
  'message.result.description',
  'message.result.code',
  'message.result.detail',
  'message.remote',
  'message.remote.ip',
  'message.remote.port',
  'message.sender',
  'message.sender.file',
  'message.sender.email',
  'message.sender.hash',
  'message.extra',
  'message.flow_id',
  'message.log',
  'message.log.provider',
  'message.log.version',
  'message.org',
] as const;

export type FieldPath = (typeof fieldPaths)[number];

interface Field {
  readonly name: string;
  readonly nameBytes: Uint8Array;
  readonly slot: number;
  /** One past the slots of the field and its members. */
  readonly slotEnd: number;
  readonly isExtra: boolean;
  readonly members: Members;
}

interface Members {
  readonly all: readonly Field[];
  /** The same by length and first letter of the name, so that a name is compared with hardly any other. */
  readonly buckets: readonly (readonly Field[])[];
}

/** What a slot holds for an object or an array: its members, where they matter, have slots of their own. */
export const anObject: Readonly<Record<string, never>> = Object.freeze({});
const anArray: readonly never[] = Object.freeze([]);

const fileHashName = Buffer.from('fileHash');

const bucketCount = 64;

function bucketOf(length: number, first: number): number {
  return (length * 5 + first) & (bucketCount - 1);
}

function membersBelow(prefix: string): Members {
  const all = fieldPaths
    .filter((path) => path.startsWith(prefix) && !path.slice(prefix.length).includes('.'))
    .map((path): Field => {
      const members = membersBelow(`${path}.`);
      const name = path.slice(prefix.length);
      const slot = fieldPaths.indexOf(path);
      const slotEnd = members.all.at(-1)?.slotEnd ?? slot + 1;
      return {
        name,
        nameBytes: Buffer.from(name),
        slot,
        slotEnd,
        isExtra: path === 'message.extra',
        members,
      };
    });
  const buckets = Array.from({ length: bucketCount }, (_, bucket) =>
    all.filter(({ name }) => bucketOf(name.length, name.charCodeAt(0)) === bucket),
  );
  return { all, buckets };
}

const eventMembers = membersBelow('');

/** The slot of a field. */
export function slotOf(path: FieldPath): number {
  return fieldPaths.indexOf(path);
}

/** What one pass finds. The arrays are used again for the next event. */
export interface SourceReading {
  readonly cursor: Cursor;
  readonly isRedacted: KeyTest;
  /** Values by slot; undefined for what is absent, null or an empty string. */
  readonly slots: unknown[];
  /** The event, minified and redacted. */
  source: string;
  /** Where `extra` stands in `source`. */
  extraStart: number;
  extraEnd: number;
  /** Where each member of `extra` stands in `source`: name, its end, value, its end; quotes included. */
  readonly extraMembers: number[];
  /** `extra.fileHash` where it is a string, else empty. */
  fileHash: string;
}

export function createReading(isRedacted: KeyTest): SourceReading {
  return {
    cursor: createCursor(),
    isRedacted,
    slots: fieldPaths.map(() => undefined),
    source: '',
    extraStart: 0,
    extraEnd: 0,
    extraMembers: [],
    fileHash: '',
  };
}

/**
 * Forgets the event: every reading begins with empty slots, and no piece of a text (which keeps all of it, a whole
 * body, in memory) outlives the event it was read for.
 */
export function releaseReading(r: SourceReading): void {
  r.slots.fill(undefined);
  r.source = '';
  r.fileHash = '';
  r.cursor.text = '';
  r.cursor.bytes = noBytes;
  r.cursor.out = '';
}

/**
 * Reads [start, end) of a window into a released `r`. Returns undefined, or what is wrong: the pointer of the whole event and
 * a rule.
 */
export function readSource(r: SourceReading, window: Window, start: number, end: number): string | undefined {
  const c = r.cursor;
  const at = openCursor(c, window, start, end);
  const isObject = codeAt(c, at) === openBrace;
  const next = isObject ? readObject(r, eventMembers, at, 1) : skipValue(c, at, 0);
  const fault = isAtEnd(c, next) ? undefined : `: ${describeFault(c, start)}`;
  if (fault === undefined) r.source = finish(c);
  return fault ?? (isObject ? undefined : ': must be an object');
}

/** An object some of whose members are fields. */
function readObject(r: SourceReading, members: Members, at: number, depth: number): number {
  const c = r.cursor;
  if (isTooDeep(c, at, depth)) return -1;
  let next = skipSpace(c, at + 1);
  if (codeAt(c, next) === closeBrace) return next + 1;
  for (;;) {
    next = scanKey(c, next);
    if (next < 0) return -1;
    const field = fieldOfKey(c, members);
    next = field === undefined ? skipValue(c, next, depth) : readField(r, field, next, depth);
    if (next < 0) return -1;
    next = skipSpace(c, next);
    const code = codeAt(c, next);
    if (code === closeBrace) return next + 1;
    if (code !== comma) return failExpected(c, next, '"," or "}"');
    next = skipSpace(c, next + 1);
  }
}

function fieldOfKey(c: Cursor, { all, buckets }: Members): Field | undefined {
  if (c.keyEscaped) {
    const name = stringValue(c.text, c.keyStart, c.keyEnd, true);
    return all.find((field) => field.name === name);
  }
  const bucket = buckets[bucketOf(c.keyEnd - c.keyStart, c.bytes[c.keyStart] as number)] ?? all;
  for (const field of bucket) if (keyIs(c, field.nameBytes)) return field;
  return undefined;
}

function readField(r: SourceReading, field: Field, at: number, depth: number): number {
  const { cursor: c, slots } = r;
  for (let slot = field.slot; slot < field.slotEnd; slot++) slots[slot] = undefined;
  const code = codeAt(c, at);
  if (code === quote) {
    const next = scanString(c, at);
    // An empty string counts as absent (contract: Ingest).
    if (next > at + 2) slots[field.slot] = stringValue(c.text, at + 1, next - 1, c.escaped);
    return next;
  }
  if (code === openBrace) {
    slots[field.slot] = anObject;
    if (field.isExtra) return readExtra(r, at, depth + 1);
    return field.members.all.length > 0
      ? readObject(r, field.members, at, depth + 1)
      : skipValue(c, at, depth);
  }
  if (code === openBracket) {
    slots[field.slot] = anArray;
    return skipValue(c, at, depth, field.isExtra ? r.isRedacted : undefined);
  }
  return readScalar(r, field, at, code);
}

/** A number, true, false, or null, which counts as absent. */
function readScalar(r: SourceReading, field: Field, at: number, code: number): number {
  const { cursor: c, slots } = r;
  const next = scanScalar(c, at);
  if (next < 0) return -1;
  if (code === 0x74) slots[field.slot] = true;
  else if (code === 0x66) slots[field.slot] = false;
  else if (code !== 0x6e) slots[field.slot] = numberValue(c.text.slice(at, next), c.plain);
  return next;
}

/** `extra`: redacted at any depth, its members noted by where they stand in the minified copy. */
function readExtra(r: SourceReading, at: number, depth: number): number {
  const { cursor: c, extraMembers } = r;
  extraMembers.length = 0;
  r.fileHash = '';
  if (isTooDeep(c, at, depth)) return -1;
  r.extraStart = outPosition(c, at);
  let next = skipSpace(c, at + 1);
  let code = codeAt(c, next);
  if (code === closeBrace) next++;
  while (code !== closeBrace) {
    const name = outPosition(c, next);
    next = scanKey(c, next);
    if (next < 0) return -1;
    next = readExtraMember(r, name, next, depth);
    if (next < 0) return -1;
    next = skipSpace(c, next);
    code = codeAt(c, next);
    if (code !== closeBrace && code !== comma) return failExpected(c, next, '"," or "}"');
    next = code === comma ? skipSpace(c, next + 1) : next + 1;
  }
  r.extraEnd = outPosition(c, next);
  return next;
}

function readExtraMember(r: SourceReading, name: number, at: number, depth: number): number {
  const { cursor: c, extraMembers } = r;
  const nameEnd = name + c.keyEnd - c.keyStart + 2;
  const value = outPosition(c, at);
  const isFileHash = keyIs(c, fileHashName);
  const isHidden = isFileHash && r.isRedacted(c);
  const next = skipMember(c, at, depth, r.isRedacted);
  if (next < 0) return -1;
  extraMembers.push(name, nameEnd, value, outPosition(c, next));
  if (isFileHash) {
    const isText = !isHidden && codeAt(c, at) === quote;
    r.fileHash = isText ? stringValue(c.text, at + 1, next - 1, c.escaped) : '';
  }
  return next;
}
