import { faultText } from '../base/errors/fault.ts';
import { type ByteSink, type Piece, putText } from './byte-sink.ts';
import {
  Cursor,
  closeBrace,
  codeAt,
  comma,
  failExpected,
  keyIs,
  noBytes,
  numberValue,
  openBrace,
  openBracket,
  outPosition,
  quote,
  scanKey,
  scanScalar,
  scanString,
  skipSpace,
  stringValue,
  textSlice,
  viewOf,
} from './json-cursor.ts';
import { describeFault, finish, isAtEnd, isTooDeep, skipMember, skipValue, type Watch } from './json-text.ts';

/** Null and the empty string count as absent (contract: Ingest). */
export const kind = {
  absent: 0,
  /** A string without escapes: its text is its value. */
  text: 1,
  /** A string with escapes. */
  escaped: 2,
  /** A number of digits only, possibly negative. */
  integer: 3,
  number: 4,
  yes: 5,
  no: 6,
  object: 7,
  array: 8,
} as const;

/** Kinds that a slot may hold, as bits. */
const maskOf = (...kinds: readonly number[]): number => kinds.reduce((mask, one) => mask | (1 << one), 1);
const plainText = maskOf(kind.text);
const text = maskOf(kind.text, kind.escaped);
const object = maskOf(kind.object);
const integer = maskOf(kind.integer);

/**
 * One pass over a source event: checks every token, minifies, and stores kind and position of each known field in a slot.
 * Slots are numbered in this order:
 *
 *   time · level · msg · message ┬ timestamp
 *                                ├ actor ┬ id
 *                                ┆       ┆
 *
 * A field's slot precedes its members' slots, so that one loop clears a repeated name (the last one counts). Each field has
 * the kinds of a usual event; the schema checks others.
 */
const fields = {
  time: ['time', plainText | integer],
  level: ['level', text],
  msg: ['msg', text],
  message: ['message', object],
  timestamp: ['message.timestamp', plainText | integer],
  actor: ['message.actor', text | object],
  actorId: ['message.actor.id', text],
  actorName: ['message.actor.name', text],
  actorEmail: ['message.actor.email', text],
  actorType: ['message.actor.type', text],
  action: ['message.action', integer | object],
  actionCode: ['message.action.code', integer],
  actionTitle: ['message.action.title', text],
  target: ['message.target', text | object],
  targetId: ['message.target.id', text],
  targetName: ['message.target.name', text],
  targetType: ['message.target.type', text],
  result: ['message.result', object],
  resultTitle: ['message.result.title', text],
  resultDescription: ['message.result.description', text],
  resultCode: ['message.result.code', integer],
  resultDetail: ['message.result.detail', text],
  remote: ['message.remote', object],
  ip: ['message.remote.ip', text],
  port: ['message.remote.port', integer],
  sender: ['message.sender', object],
  senderFile: ['message.sender.file', text],
  senderEmail: ['message.sender.email', text],
  senderHash: ['message.sender.hash', text],
  extra: ['message.extra', object],
  flowId: ['message.flow_id', plainText],
  log: ['message.log', object],
  logProvider: ['message.log.provider', text],
  logVersion: ['message.log.version', text],
  org: ['message.org', text],
} as const;
type FieldName = keyof typeof fields;
const fieldNames = Object.keys(fields) as FieldName[];
const fieldPaths = Object.values(fields).map(([path]) => path);
export const usualKinds = Uint16Array.from(Object.values(fields), ([, kinds]) => kinds);

/** `fileHash`: of `extra.fileHash` if it is a string. */
export const slot = Object.freeze({
  ...Object.fromEntries(fieldNames.map((name, index) => [name, index])),
  fileHash: fieldNames.length,
}) as Readonly<Record<FieldName | 'fileHash', number>>;

export interface Field {
  readonly name: string;
  /** Name, quote and colon in words of four bytes; the last may overlap. */
  readonly words: Int32Array;
  readonly tokenBytes: number;
  readonly slot: number;
  /** One past the slots of the field and its members. */
  readonly slotEnd: number;
  readonly isExtra: boolean;
  /** It is or contains `extra`. */
  readonly holdsExtra: boolean;
  /** False for texts with a fixed form, such as times. */
  readonly mayHoldSecret: boolean;
  readonly members: Members;
}

export interface Members {
  /** The slot of their object; -1 for the event. */
  readonly owner: number;
  readonly all: readonly Field[];
  /** Fields by the first four bytes of their tokens (see `tableIndex`). */
  readonly table: readonly (Field | undefined)[];
}

const [extraPath] = fields.extra;
const formedPaths: readonly string[] = [fields.time, fields.timestamp, fields.flowId, fields.org].map(
  ([path]) => path,
);
const fileHashName = Buffer.from('fileHash');

const tableBits = 6;

/** The factor makes it unique. */
const tableIndex = (word: number): number => Math.imul(word, 1767) >>> (32 - tableBits);

function packWords(token: string): Int32Array {
  const view = viewOf(Buffer.from(token));
  const last = token.length - 4;
  return Int32Array.from({ length: Math.ceil(token.length / 4) }, (_, i) =>
    view.getInt32(Math.min(i * 4, last), true),
  );
}

function membersBelow(prefix: string): Members {
  const all = fieldPaths
    .filter((path) => path.startsWith(prefix) && !path.slice(prefix.length).includes('.'))
    .map((path): Field => {
      const members = membersBelow(`${path}.`);
      const name = path.slice(prefix.length);
      const own = fieldPaths.indexOf(path);
      const slotEnd = members.all.at(-1)?.slotEnd ?? own + 1;
      return {
        name,
        words: packWords(`${name}":`),
        tokenBytes: name.length + 2,
        slot: own,
        slotEnd,
        isExtra: path === extraPath,
        holdsExtra: `${extraPath}.`.startsWith(`${path}.`),
        mayHoldSecret: !formedPaths.includes(path),
        members,
      };
    });
  const table = Array.from({ length: 1 << tableBits }, (_, place) =>
    all.find(({ words }) => tableIndex(words[0] as number) === place),
  );
  if (table.filter((field) => field !== undefined).length < all.length)
    throw new Error(`two fields below "${prefix}" have one place: tableIndex needs another factor`);
  return { owner: (fieldPaths as readonly string[]).indexOf(prefix.slice(0, -1)), all, table };
}

export const eventMembers = membersBelow('');

/** Result of one pass. The arrays are reused. */
export class SourceReading {
  readonly cursor = new Cursor();
  /** Undefined for stored events, which were redacted already. */
  readonly watch: Watch | undefined;
  /** By slot: kind and position in the window, without quotes; not of arrays. */
  readonly kinds = new Uint8Array(slot.fileHash + 1);
  readonly starts = new Int32Array(slot.fileHash + 1);
  readonly ends = new Int32Array(slot.fileHash + 1);
  readonly source: Piece = { bytes: noBytes, start: 0, end: 0 };
  /** Position of `extra` in `source`. */
  extraStart = 0;
  extraEnd = 0;
  /** Name, its end, value, its end of each member of `extra`, quotes included. */
  readonly extraMembers: number[] = [];
  /** How many of these count: truncating an array would free its memory. */
  extraLength = 0;
  /** Slot of their object (-1: the event), start of the name with its quote, end of the value. */
  readonly others: number[] | undefined;

  constructor(watch?: Watch, others?: number[]) {
    this.watch = watch;
    this.others = others;
  }
}

export function releaseReading(r: SourceReading): void {
  r.kinds.fill(kind.absent);
  r.extraLength = 0;
  if (r.others !== undefined) r.others.length = 0;
  r.cursor.text = '';
  r.cursor.out = '';
}

export function textOf({ starts, ends, kinds, cursor }: SourceReading, at: number): string {
  return stringValue(cursor, starts[at] as number, ends[at] as number, kinds[at] === kind.escaped);
}

/** A double represents or rounds once each number of so many digits. */
const summedCharactersMax = 16;

/** NaN if only rounding would make it an integer. */
export function numberOf({ starts, ends, kinds, cursor }: SourceReading, at: number): number {
  const start = starts[at] as number;
  const end = ends[at] as number;
  const isInteger = kinds[at] === kind.integer;
  if (!isInteger || end - start > summedCharactersMax)
    return numberValue(textSlice(cursor, start, end), isInteger);
  const { bytes } = cursor;
  const isNegative = bytes[start] === 0x2d;
  let value = 0;
  for (let i = isNegative ? start + 1 : start; i < end; i++)
    value = value * 10 + ((bytes[i] as number) - 0x30);
  return isNegative ? -value : value;
}

export interface EventPlace {
  readonly bytes: Uint8Array;
  readonly eventStart: number;
  readonly minified: ByteSink;
}

/** `r` must be released. Returns undefined, or the fault: the event's pointer and a rule. */
export function readSource(
  r: SourceReading,
  arena: EventPlace,
  text: string,
  textStart: number,
): string | undefined {
  const c = r.cursor;
  const start = arena.eventStart;
  const at = c.open(arena.bytes, start, arena.minified.length, text, textStart);
  const isObject = codeAt(c, at) === openBrace;
  const next = isObject ? readObject(r, eventMembers, at, 1) : skipValue(c, at, 0);
  const fault = isAtEnd(c, next) ? undefined : faultText('event', '', describeFault(c, start));
  if (fault === undefined) keepSource(r, arena);
  return fault ?? (isObject ? undefined : faultText('event', '', 'must be an object'));
}

function keepSource({ cursor: c, source }: SourceReading, { minified }: EventPlace): void {
  source.bytes = c.bytes;
  if (c.out === '') {
    source.start = c.from;
    source.end = c.end;
  } else {
    source.start = minified.length;
    putText(minified, finish(c));
    source.end = minified.length;
  }
}

function readObject(r: SourceReading, members: Members, at: number, depth: number): number {
  const c = r.cursor;
  if (isTooDeep(c, at, depth)) return -1;
  let next = skipSpace(c, at + 1);
  if (codeAt(c, next) === closeBrace) return next + 1;
  for (;;) {
    const known = knownField(c, members, next);
    next = known === undefined ? readMember(r, members, next, depth) : readField(r, known, c.valueAt, depth);
    if (next < 0) return -1;
    next = skipSpace(c, next);
    const code = codeAt(c, next);
    if (code === closeBrace) return next + 1;
    if (code !== comma) return failExpected(c, next, '"," or "}"');
    next = skipSpace(c, next + 1);
  }
}

/** The field whose plain name and colon are at `at`; sets `valueAt`. */
function knownField(c: Cursor, { table }: Members, at: number): Field | undefined {
  const { view, end } = c;
  if (at + 5 > end || c.bytes[at] !== quote) return undefined;
  const field = table[tableIndex(view.getInt32(at + 1, true))];
  if (field === undefined) return undefined;
  const { words, tokenBytes } = field;
  const after = at + 1 + tokenBytes;
  if (after > end) return undefined;
  const last = words.length - 1;
  for (let i = 0; i < last; i++) if (view.getInt32(at + 1 + i * 4, true) !== words[i]) return undefined;
  if (view.getInt32(after - 4, true) !== words[last]) return undefined;
  c.valueAt = skipSpace(c, after);
  return field;
}

function readMember(r: SourceReading, members: Members, at: number, depth: number): number {
  const c = r.cursor;
  const value = scanKey(c, at);
  if (value < 0) return -1;
  const field = fieldOfKey(c, members);
  if (field !== undefined) return readField(r, field, value, depth);
  const name = c.keyStart - 1;
  const next = skipMember(c, value, depth, r.watch);
  if (next >= 0) r.others?.push(members.owner, name, next);
  return next;
}

export function fieldOfKey(c: Cursor, { all }: Members): Field | undefined {
  const name = stringValue(c, c.keyStart, c.keyEnd, c.keyEscaped);
  return all.find((field) => field.name === name);
}

function readField(r: SourceReading, field: Field, at: number, depth: number): number {
  const { cursor: c, kinds } = r;
  const own = field.slot;
  for (let one = own; one < field.slotEnd; one++) kinds[one] = kind.absent;
  if (field.holdsExtra) kinds[slot.fileHash] = kind.absent;
  const code = codeAt(c, at);
  if (code === quote) {
    const next = scanString(c, at);
    if (field.mayHoldSecret) r.watch?.onText(c, at, next);
    if (next > at + 2) keep(r, own, c.escaped ? kind.escaped : kind.text, at + 1, next - 1);
    return next;
  }
  if (code === openBrace) {
    const next = readMembers(r, field, at, depth);
    keep(r, own, kind.object, at, next);
    return next;
  }
  if (code === openBracket) {
    kinds[own] = kind.array;
    return skipValue(c, at, depth, r.watch);
  }
  const next = scanScalar(c, at);
  if (next < 0) return -1;
  if (code === 0x74) kinds[own] = kind.yes;
  else if (code === 0x66) kinds[own] = kind.no;
  else if (code !== 0x6e) keep(r, own, c.plain ? kind.integer : kind.number, at, next);
  return next;
}

function readMembers(r: SourceReading, field: Field, at: number, depth: number): number {
  if (field.isExtra) return readExtra(r, at, depth + 1);
  return field.members.all.length > 0
    ? readObject(r, field.members, at, depth + 1)
    : skipValue(r.cursor, at, depth, r.watch);
}

function keep(r: SourceReading, at: number, what: number, start: number, end: number): void {
  r.kinds[at] = what;
  r.starts[at] = start;
  r.ends[at] = end;
}

function readExtra(r: SourceReading, at: number, depth: number): number {
  const { cursor: c } = r;
  r.extraLength = 0;
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
  const next = skipMember(c, at, depth, r.watch);
  if (next < 0) return -1;
  extraMembers[r.extraLength++] = name;
  extraMembers[r.extraLength++] = nameEnd;
  extraMembers[r.extraLength++] = value;
  extraMembers[r.extraLength++] = outPosition(c, next);
  if (isFileHash) {
    r.kinds[slot.fileHash] = kind.absent;
    const isText = codeAt(c, at) === quote && next > at + 2;
    if (isText) keep(r, slot.fileHash, c.escaped ? kind.escaped : kind.text, at + 1, next - 1);
  }
  return next;
}
