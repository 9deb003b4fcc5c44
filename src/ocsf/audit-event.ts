import { faultText } from '../base/errors/fault.ts';
import { limits } from './limits.ts';
import { activityName } from './activities.ts';
import { Arena, OutOfRoom, type Piece, putFolded, putText, samePiece } from './byte-sink.ts';
import { type Window, byteWindow } from './byte-text.ts';
import { firstToken, lastToken } from './json-array.ts';
import { noBytes } from './json-cursor.ts';
import type { Redaction } from './redact.ts';
import { Renderer, type Severity, type Status } from './render.ts';
import { hasExpired } from './retention.ts';
import { toEvent, isSurelyValid, readMicros, SourceValidator } from './source-event.ts';
import { kind, numberOf, readSource, releaseReading, SourceReading, slot, textOf } from './source-fields.ts';

export interface OrgReference {
  readonly id: string;
  readonly retentionDays: number | undefined;
}

/**
 * Finds the organization of `message.org` (id, slug or undefined). A string is the refusal, `<JSON pointer>:
 * <rule>`.
 */
export type ResolveOrg = (reference: string | undefined) => OrgReference | string;

/** Columns for matching (case folded, empty if absent), then the two payloads. Valid until the next event. */
export interface MappedEvent {
  readonly org: string;
  readonly retentionDays: number | undefined;
  readonly timeMicros: number;
  readonly activityId: number;
  readonly activityName: Piece;
  readonly severity: Severity;
  readonly status: Status;
  /** As sent. */
  readonly level: Piece;
  readonly resultCode: number;
  readonly actorEmail: Piece;
  readonly actorId: Piece;
  readonly names: readonly Piece[];
  readonly fileHashes: readonly Piece[];
  readonly fileName: Piece;
  /** The target as sent if it is a string, otherwise its name. */
  readonly targetName: Piece;
  readonly flowId: Piece;
  /** The audit event from `"time":` to the inside of `metadata`: see envelope.ts. */
  readonly ocsf: Piece;
  readonly source: Piece;
}

export interface MapperOptions {
  readonly appName: string;
  /** Undefined for stored events, which were redacted already. */
  readonly redaction?: Redaction | undefined;
  /** Unix milliseconds; by default the system's clock. */
  readonly now?: () => number;
}

const nilUuid = Buffer.from('00000000-0000-0000-0000-000000000000');
const resultCodeDefault = 200;
const failureCodeMin = 400;

const noPiece = (): Piece => ({ bytes: noBytes, start: 0, end: 0 });

class Pair {
  readonly one = noPiece();
  readonly two = noPiece();
  readonly #lists = [[], [this.one], [this.two], [this.one, this.two]] as const;

  /** The non-empty ones, without duplicates. */
  list(): readonly Piece[] {
    const { one, two } = this;
    const hasOne = one.end > one.start;
    const hasTwo = two.end > two.start && !(hasOne && samePiece(one, two));
    return this.#lists[(hasOne ? 1 : 0) + (hasTwo ? 2 : 0)] ?? [];
  }
}
type MutableEvent = { -readonly [K in keyof MappedEvent]: MappedEvent[K] };

const emptyRow = (source: Piece): MutableEvent => ({
  org: '',
  retentionDays: undefined,
  timeMicros: 0,
  activityId: 0,
  activityName: noPiece(),
  severity: 'Informational',
  status: 'Success',
  level: noPiece(),
  resultCode: 0,
  actorEmail: noPiece(),
  actorId: noPiece(),
  names: [],
  fileHashes: [],
  fileName: noPiece(),
  targetName: noPiece(),
  flowId: noPiece(),
  ocsf: noPiece(),
  source,
});

/** Has its own working memory: one a thread. */
export class Mapper {
  readonly #reading: SourceReading;
  readonly #validator = new SourceValidator();
  readonly #renderer: Renderer;
  readonly #arena: Arena;
  readonly #redaction: Redaction | undefined;
  readonly #now: () => number;
  readonly #row: MutableEvent;
  readonly #names = new Pair();
  readonly #fileHashes = new Pair();
  readonly #hash = noPiece();
  readonly #otherHash = noPiece();

  constructor({ appName, redaction, now = Date.now }: MapperOptions) {
    this.#redaction = redaction;
    this.#reading = new SourceReading(redaction);
    this.#renderer = new Renderer(appName);
    this.#arena = new Arena(this.#renderer.constants);
    this.#now = now;
    this.#row = emptyRow(this.#reading.source);
  }

  /**
   * [from, to) of a UTF-8 window; white space around it is allowed. The refusal is `<JSON pointer>: <rule>`, joined by `; `.
   * Calls must not overlap.
   */
  map(window: Window, from: number, to: number, resolveOrg: ResolveOrg): MappedEvent | string {
    const start = firstToken(window.bytes, from, to);
    const end = lastToken(window.bytes, start, to);
    if (end - start > limits.eventBytesMax)
      return faultText('event', '', `must be at most ${limits.eventBytesMax} bytes`);
    return this.#mapText(window, start, end, resolveOrg);
  }

  /** Maps a stored source event again. Length, schema and retention were checked on ingest. */
  mapStored(window: Window, start: number, end: number, org: OrgReference): MappedEvent | string {
    return this.#mapText(window, start, end, org);
  }

  #mapText(window: Window, start: number, end: number, org: ResolveOrg | OrgReference): MappedEvent | string {
    try {
      const fault = this.#read(window, start, end) ?? this.#redact(window, start, end);
      return fault ?? (typeof org === 'function' ? this.#mapNew(org) : this.#mapAgain(org));
    } catch (error) {
      // Never happens with regions of the right size; refuses rather than store damage.
      if (error instanceof OutOfRoom) return ': could not be rendered within its room';
      throw error;
    } finally {
      releaseReading(this.#reading);
    }
  }

  #read({ bytes, text }: Window, start: number, end: number): string | undefined {
    this.#arena.open(bytes, start, end, this.#renderer.bytesMax(end - start));
    return readSource(this.#reading, this.#arena, text, start);
  }

  #redact(window: Window, start: number, end: number): string | undefined {
    if (!this.#reading.cursor.suspect) return undefined;
    const redacted = this.#redaction?.redacted(window, start, end);
    if (redacted === undefined) return undefined;
    releaseReading(this.#reading);
    const left = byteWindow(Buffer.from(redacted, 'latin1'));
    return this.#read(left, 0, left.bytes.length);
  }

  #mapNew(resolveOrg: ResolveOrg): MappedEvent | string {
    const reading = this.#reading;
    const { kinds } = reading;
    const validator = this.#validator;
    if (!isSurelyValid(reading) && !validator.isValid(toEvent(reading))) return validator.describe();
    const org = resolveOrg(kinds[slot.org] === kind.absent ? undefined : textOf(reading, slot.org));
    if (typeof org === 'string') return org;
    const timeSlot = this.#mapTime(org);
    if (org.retentionDays !== undefined && hasExpired(this.#row.timeMicros, org.retentionDays, this.#now())) {
      const pointer = timeSlot === slot.time ? '/time' : '/message/timestamp';
      return `${pointer}: the retention of its organization (${org.retentionDays}d) has passed`;
    }
    const knownName = this.#mapActivity();
    this.#mapColumns();
    return this.#render(knownName);
  }

  #mapAgain(org: OrgReference): MappedEvent | string {
    this.#mapTime(org);
    const knownName = this.#mapActivity();
    this.#mapColumns();
    const { timeMicros, activityId, resultCode } = this.#row;
    if (![timeMicros, activityId, resultCode].every(Number.isSafeInteger)) return ': has no numbers of a row';
    return this.#render(knownName);
  }

  #mapTime(org: OrgReference): number {
    const row = this.#row;
    row.org = org.id;
    row.retentionDays = org.retentionDays;
    const timeSlot = this.#reading.kinds[slot.timestamp] === kind.absent ? slot.time : slot.timestamp;
    // Turns a negative zero into zero.
    row.timeMicros = (readMicros(this.#reading, timeSlot) ?? 0) + 0;
    return timeSlot;
  }

  #render(knownName: string): MappedEvent | string {
    const reading = this.#reading;
    const row = this.#row;
    const { rendered } = this.#arena;
    const { ocsf } = row;
    ocsf.start = rendered.length;
    this.#renderer.render(rendered, reading, row, knownName);
    ocsf.bytes = rendered.bytes;
    ocsf.end = rendered.length;
    return row;
  }

  /** Empty if the producer gave a title. */
  #mapActivity(): string {
    const row = this.#row;
    const hasParts = this.#reading.kinds[slot.action] === kind.object;
    row.activityId = numberOf(this.#reading, hasParts ? slot.actionCode : slot.action) + 0;
    if (this.#isText(slot.actionTitle)) {
      this.#toPiece(row.activityName, slot.actionTitle);
      return '';
    }
    const knownName = activityName(row.activityId);
    namePiece(row.activityName, knownName);
    return knownName;
  }

  #mapColumns(): void {
    const row = this.#row;
    this.#toPiece(row.level, slot.level);
    row.severity = severityOf(row.level);
    const hasResultCode = this.#reading.kinds[slot.resultCode] !== kind.absent;
    row.resultCode = (hasResultCode ? numberOf(this.#reading, slot.resultCode) : resultCodeDefault) + 0;
    row.status = row.resultCode < failureCodeMin ? 'Success' : 'Failure';
    this.#toFolded(row.actorEmail, this.#isText(slot.actor) ? slot.actor : slot.actorEmail);
    this.#toFolded(row.actorId, slot.actorId);
    const target = this.#isText(slot.target) ? slot.target : slot.targetName;
    this.#toPiece(row.fileName, slot.senderFile);
    this.#toPiece(row.targetName, target);
    row.names = this.#toPair(this.#names, row.fileName, row.targetName);
    this.#toPiece(this.#hash, slot.senderHash);
    this.#toPiece(this.#otherHash, slot.fileHash);
    row.fileHashes = this.#toPair(this.#fileHashes, this.#hash, this.#otherHash);
    this.#toFolded(row.flowId, slot.flowId);
    if (samePiece(row.flowId, nilPiece)) row.flowId.end = row.flowId.start;
  }

  #isText(at: number): boolean {
    const what = this.#reading.kinds[at];
    return what === kind.text || what === kind.escaped;
  }

  #toPiece(piece: Piece, at: number): void {
    const { kinds, starts, ends, cursor } = this.#reading;
    const what = kinds[at];
    piece.bytes = cursor.bytes;
    piece.start = what === kind.text ? (starts[at] as number) : 0;
    piece.end = what === kind.text ? (ends[at] as number) : 0;
    if (what !== kind.escaped) return;
    const { folded } = this.#arena;
    piece.start = folded.length;
    putText(folded, textOf(this.#reading, at));
    piece.bytes = folded.bytes;
    piece.end = folded.length;
  }

  #toFolded(piece: Piece, at: number): void {
    this.#toPiece(piece, at);
    if (piece.end > piece.start) putFolded(this.#arena.folded, piece);
  }

  /** Both folded; the originals stay as sent. */
  #toPair(pair: Pair, first: Piece, second: Piece): readonly Piece[] {
    this.#toFoldedCopy(pair.one, first);
    this.#toFoldedCopy(pair.two, second);
    return pair.list();
  }

  #toFoldedCopy(copy: Piece, { bytes, start, end }: Piece): void {
    copy.bytes = bytes;
    copy.start = start;
    copy.end = end;
    if (end > start) putFolded(this.#arena.folded, copy);
  }
}

const nilPiece: Piece = { bytes: nilUuid, start: 0, end: nilUuid.length };
const levels = {
  error: { bytes: Buffer.from('ERROR'), start: 0, end: 5 },
  warn: { bytes: Buffer.from('WARN'), start: 0, end: 4 },
} as const;

function severityOf(level: Piece): Severity {
  if (samePiece(level, levels.error)) return 'High';
  return samePiece(level, levels.warn) ? 'Medium' : 'Informational';
}

const names = Buffer.alloc(64 * 1024);
let namesEnd = 0;
const namePlaces = new Map<string, number>();

function namePiece(piece: Piece, name: string): void {
  let start = namePlaces.get(name);
  if (start === undefined && namesEnd + name.length <= names.length) {
    start = namesEnd;
    namesEnd += names.write(name, start, 'latin1');
    namePlaces.set(name, start);
  }
  piece.bytes = start === undefined ? Buffer.from(name, 'latin1') : names;
  piece.start = start ?? 0;
  piece.end = piece.start + name.length;
}
