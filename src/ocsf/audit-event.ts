import { limits } from './limits.ts';
import { activityName } from './activities.ts';
import { createArena, OutOfRoom, openArena, type Piece, putLower, putText, samePiece } from './byte-sink.ts';
import type { Window } from './byte-text.ts';
import { firstToken, lastToken } from './json-array.ts';
import { noBytes } from './json-cursor.ts';
import { createKeyTest } from './redact.ts';
import { createRenderer, type Severity, type Status } from './render.ts';
import { hasExpired } from './retention.ts';
import { createValidator, eventOf, isSurelyValid, microsOf } from './source-event.ts';
import {
  createReading,
  type FieldPath,
  kind,
  numberOf,
  readSource,
  releaseReading,
  slotOf,
  textOf,
} from './source-fields.ts';
import { areJson } from './stored-json.ts';

export interface OrgReference {
  /** UUID of the organization. */
  readonly id: string;
  readonly retentionDays: number | undefined;
}

/**
 * Finds the organization that `message.org` names (an id or a slug; undefined when the event has none). A string
 * returned is why the event is refused, as `<JSON pointer>: <rule>`.
 */
export type ResolveOrg = (reference: string | undefined) => OrgReference | string;

/**
 * One row: typed columns for matching, then the two payloads. Pieces for matching are lower-cased; empty ones stand
 * for what is absent. A mapper uses one row again and again: it is good until the next event is mapped.
 */
export interface MappedEvent {
  readonly org: string;
  readonly retentionDays: number | undefined;
  /** Unix microseconds, UTC. */
  readonly timeMicros: number;
  readonly activityId: number;
  readonly activityName: Piece;
  readonly severity: Severity;
  readonly status: Status;
  /** As the producer sent it. */
  readonly level: Piece;
  readonly resultCode: number;
  readonly actorEmail: Piece;
  readonly actorId: Piece;
  /** The sender's file and the target's name, each once. */
  readonly names: readonly Piece[];
  /** `sender.hash` and `extra.fileHash`, each once. */
  readonly fileHashes: readonly Piece[];
  /** A UUID. */
  readonly flowId: Piece;
  /** The audit event from `"time":` to the inside of `metadata`: see envelope.ts. */
  readonly ocsf: Piece;
  /** The producer's text without whitespace between tokens, redacted. */
  readonly source: Piece;
}

export interface MapperOptions {
  /** Fixed text of `actor.app_name`. */
  readonly appName: string;
  /** Names whose values in `extra` are never stored: see `createKeyTest`. */
  readonly redactKeys: readonly string[];
  /** Unix milliseconds; by default the system's clock. */
  readonly now?: () => number;
}

/**
 * Maps the source event that is [start, end) of a window known to be UTF-8, whitespace around it allowed. Returns the row, or why the event is
 * refused: `<JSON pointer>: <rule>`, several joined by `; `. Never throws for what a text holds.
 */
export type MapEvent = (
  window: Window,
  start: number,
  end: number,
  resolveOrg: ResolveOrg,
) => MappedEvent | string;

const nilUuid = Buffer.from('00000000-0000-0000-0000-000000000000');
const resultCodeDefault = 200;
const failureCodeMin = 400;

const s = (path: FieldPath): number => slotOf(path);
const slot = {
  time: s('time'),
  level: s('level'),
  timestamp: s('message.timestamp'),
  actor: s('message.actor'),
  actorId: s('message.actor.id'),
  actorEmail: s('message.actor.email'),
  action: s('message.action'),
  actionCode: s('message.action.code'),
  actionTitle: s('message.action.title'),
  target: s('message.target'),
  targetName: s('message.target.name'),
  resultCode: s('message.result.code'),
  senderFile: s('message.sender.file'),
  senderHash: s('message.sender.hash'),
  flowId: s('message.flow_id'),
  org: s('message.org'),
} as const;

type Row = { -readonly [K in keyof MappedEvent]: MappedEvent[K] };

const noPiece = (): Piece => ({ bytes: noBytes, start: 0, end: 0 });

/** A mapper with its compiled schema and its working memory: one a thread, as calls must not overlap. */
export function createMapper(options: MapperOptions): MapEvent {
  const reading = createReading(createKeyTest(options.redactKeys));
  const { kinds } = reading;
  const validator = createValidator();
  const renderer = createRenderer(options.appName);
  const arena = createArena(renderer.constants);
  const { lowered, rendered } = arena;
  const now = options.now ?? Date.now;
  const row: Row = {
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
    flowId: noPiece(),
    ocsf: noPiece(),
    source: reading.source,
  };
  const pairs = { names: [noPiece(), noPiece()], fileHashes: [noPiece(), noPiece()] } as const;

  /** Points a piece at the string in a slot; nothing else in it counts. */
  function toPiece(piece: Piece, at: number): void {
    const what = kinds[at];
    piece.bytes = reading.cursor.bytes;
    piece.start = what === kind.text ? (reading.starts[at] as number) : 0;
    piece.end = what === kind.text ? (reading.ends[at] as number) : 0;
    if (what !== kind.escaped) return;
    piece.start = lowered.length;
    putText(lowered, textOf(reading, at));
    piece.bytes = lowered.bytes;
    piece.end = lowered.length;
  }

  function toLower(piece: Piece, at: number): void {
    toPiece(piece, at);
    if (piece.end > piece.start) putLower(lowered, piece);
  }

  /** Lower-cased strings of two slots, without empty ones, and the second only where it differs. */
  function toPair([one, two]: readonly [Piece, Piece] | readonly Piece[], first: number, second: number) {
    const pieces: Piece[] = [];
    if (one === undefined || two === undefined) return pieces;
    toLower(one, first);
    toLower(two, second);
    if (one.end > one.start) pieces.push(one);
    if (two.end > two.start && !(pieces.length > 0 && samePiece(one, two))) pieces.push(two);
    return pieces;
  }

  function isText(at: number): boolean {
    return kinds[at] === kind.text || kinds[at] === kind.escaped;
  }

  function mapRead(resolveOrg: ResolveOrg): MappedEvent | string {
    if (!isSurelyValid(reading) && !validator.isValid(eventOf(reading))) return validator.describe();
    const org = resolveOrg(kinds[slot.org] === kind.absent ? undefined : textOf(reading, slot.org));
    if (typeof org === 'string') return org;
    row.org = org.id;
    row.retentionDays = org.retentionDays;
    mapColumns();
    if (org.retentionDays !== undefined && hasExpired(row.timeMicros, org.retentionDays, now())) {
      return `${timePointer()}: the retention of its organization (${org.retentionDays} days) has passed`;
    }
    const { ocsf } = row;
    ocsf.start = rendered.length;
    renderer.render(rendered, reading, row, knownName);
    ocsf.bytes = rendered.bytes;
    ocsf.end = rendered.length;
    if (reading.cursor.redacted && !areJson(ocsf, row.source)) return ': could not be redacted';
    return row;
  }

  function timePointer(): string {
    return kinds[slot.timestamp] === kind.absent ? '/time' : '/message/timestamp';
  }

  let knownName = '';

  function mapColumns(): void {
    // What the schema lets pass is a time; the additions turn a negative zero into zero.
    row.timeMicros =
      (microsOf(reading, kinds[slot.timestamp] === kind.absent ? slot.time : slot.timestamp) ?? 0) + 0;
    const hasParts = kinds[slot.action] === kind.object;
    row.activityId = numberOf(reading, hasParts ? slot.actionCode : slot.action) + 0;
    knownName = isText(slot.actionTitle) ? '' : activityName(row.activityId);
    if (knownName === '') toPiece(row.activityName, slot.actionTitle);
    else constantPiece(row.activityName, knownName);
    toPiece(row.level, slot.level);
    row.severity = severityOf(row.level);
    row.resultCode =
      (kinds[slot.resultCode] === kind.absent ? resultCodeDefault : numberOf(reading, slot.resultCode)) + 0;
    row.status = row.resultCode < failureCodeMin ? 'Success' : 'Failure';
    toLower(row.actorEmail, isText(slot.actor) ? slot.actor : slot.actorEmail);
    toLower(row.actorId, slot.actorId);
    row.names = toPair(pairs.names, slot.senderFile, isText(slot.target) ? slot.target : slot.targetName);
    row.fileHashes = toPair(pairs.fileHashes, slot.senderHash, reading.fileHashSlot);
    toLower(row.flowId, slot.flowId);
    if (samePiece(row.flowId, nilPiece)) row.flowId.end = row.flowId.start;
  }

  return (window, from, to, resolveOrg) => {
    const start = firstToken(window.bytes, from, to);
    const end = lastToken(window.bytes, start, to);
    // The bound holds for the event as it was sent, whitespace between its tokens included.
    if (end - start > limits.eventBytesMax) return `: must be at most ${limits.eventBytesMax} bytes`;
    openArena(arena, window.bytes, start, end, renderer.bytesMax(end - start));
    try {
      return readSource(reading, arena, window.text, start) ?? mapRead(resolveOrg);
    } catch (error) {
      // Rather refused than stored damaged; with regions of the right size it never comes to this.
      if (error instanceof OutOfRoom) return ': could not be rendered within its room';
      throw error;
    } finally {
      releaseReading(reading);
    }
  };
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

/** The bytes of names that this service gives; there are as many as codes that it knows, and the rest is bounded. */
const constants = new Map<string, Buffer>();
const constantsMax = 4096;

function constantPiece(piece: Piece, text: string): void {
  let bytes = constants.get(text);
  if (bytes === undefined) {
    bytes = Buffer.from(text, 'latin1');
    if (constants.size < constantsMax) constants.set(text, bytes);
  }
  piece.bytes = bytes;
  piece.start = 0;
  piece.end = bytes.length;
}
