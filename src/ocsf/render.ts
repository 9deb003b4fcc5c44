import { type ByteSink, type Piece, putInteger, putQuoted, putRange, putText } from './byte-sink.ts';
import { toByteText } from './byte-text.ts';
import { kind, numberOf, type SourceReading, slot, textOf } from './source-fields.ts';

interface Rendered {
  readonly timeMicros: number;
  readonly activityId: number;
  readonly severity: Severity;
  readonly status: Status;
  /** Empty without one, or for the nil UUID. */
  readonly flowId: Piece;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

const texts: string[] = [];
let textsLength = 0;

function constant(text: string): Range {
  const start = textsLength;
  texts.push(text);
  textsLength += text.length;
  return { start, end: textsLength };
}

const json = {
  time: constant('"time":'),
  activityId: constant(',"activity_id":'),
  activityName: constant(',"activity_name":"'),
  actor: constant('","actor":{"app_name":'),
  user: constant(',"user":{'),
  name: constant('"name":"'),
  email: constant('"email_addr":"'),
  type: constant('"type":"'),
  close: constant('}'),
  quote: constant('"'),
  comma: constant(','),
  titleEnd: constant(': '),
  statusDetail: constant(',"status_detail":"'),
  endpoint: constant(',"src_endpoint":{'),
  ip: constant('"ip":"'),
  port: constant('"port":'),
  flowId: constant(',"flow_id":"'),
  enrichments: constant(',"enrichments":[{"name":'),
  pairName: constant('},{"name":'),
  pairValue: constant(',"value":'),
  extraMap: constant('}],"extra_map":'),
  metadata: constant(',"metadata":{'),
  logProvider: constant('"log_provider":"'),
  logVersion: constant('"log_version":"'),
} as const;

const severityIds = { Informational: 1, Medium: 3, High: 4 } as const;
const statusIds = { Success: 1, Failure: 2 } as const;
export type Severity = keyof typeof severityIds;
export type Status = keyof typeof statusIds;

/** The text between activity and message, by severity and status. */
const outcomes = byKey(severityIds, (severity, severityId) =>
  byKey(statusIds, (status, statusId) =>
    constant(
      `","severity":"${severity}","severity_id":${severityId},"status":"${status}","status_id":${statusId},"message":"`,
    ),
  ),
);

function byKey<K extends string, T>(
  ids: Readonly<Record<K, number>>,
  make: (key: K, id: number) => T,
): Record<K, T> {
  const entries = Object.entries(ids) as [K, number][];
  return Object.fromEntries(entries.map(([key, id]) => [key, make(key, id)])) as Record<K, T>;
}

/**
 * See envelope.ts (contract: Audit event). Strings are the producer's tokens, so escapes and digits stay, except in the address
 * (`putAddress`).
 */
export class Renderer {
  /** An arena must begin with these. */
  readonly constants: Uint8Array;
  readonly #appName: Range;

  constructor(appName: string) {
    const text = toByteText(JSON.stringify(appName));
    this.#appName = { start: textsLength, end: textsLength + text.length };
    this.constants = Buffer.from(texts.join('') + text, 'latin1');
  }

  /** The worst case is many small members of `extra`: `"":1,` is five bytes and becomes twenty-nine. */
  bytesMax(length: number): number {
    return length * 6 + this.#appName.end - this.#appName.start + 2048;
  }

  /** `activityName` (ASCII) is used if the producer gave none. */
  render(sink: ByteSink, r: SourceReading, row: Rendered, activityName: string): void {
    put(sink, json.time);
    putInteger(sink, row.timeMicros);
    put(sink, json.activityId);
    putInteger(sink, row.activityId);
    put(sink, json.activityName);
    putActivityName(sink, r, activityName);
    put(sink, outcomes[row.severity][row.status]);
    putMessage(sink, r, activityName);
    put(sink, json.actor);
    put(sink, this.#appName);
    putUser(sink, r);
    put(sink, json.close);
    putMember(sink, r, slot.resultDetail, json.statusDetail);
    putEndpoint(sink, r);
    putFlowId(sink, row.flowId);
    if (r.kinds[slot.extra] === kind.object) putExtra(sink, r);
    put(sink, json.metadata);
    if (putMember(sink, r, slot.logProvider, json.logProvider)) put(sink, json.comma);
    if (putMember(sink, r, slot.logVersion, json.logVersion)) put(sink, json.comma);
  }
}

function put(sink: ByteSink, { start, end }: Range): void {
  putRange(sink, start, end);
}

function putFlowId(sink: ByteSink, flowId: Piece): void {
  if (flowId.end === flowId.start) return;
  put(sink, json.flowId);
  put(sink, flowId);
  put(sink, json.quote);
}

function putToken(sink: ByteSink, r: SourceReading, slotNumber: number): void {
  putRange(sink, r.starts[slotNumber] as number, r.ends[slotNumber] as number);
}

/** `opening` (ends in a quote), the string of the slot, a quote; false for an empty slot. */
function putMember(sink: ByteSink, r: SourceReading, slotNumber: number, opening: Range): boolean {
  if (r.kinds[slotNumber] === kind.absent) return false;
  put(sink, opening);
  putToken(sink, r, slotNumber);
  put(sink, json.quote);
  return true;
}

function putActivityName(sink: ByteSink, r: SourceReading, activityName: string): void {
  if (r.kinds[slot.actionTitle] === kind.absent) putText(sink, activityName);
  else putToken(sink, r, slot.actionTitle);
}

function putMessage(sink: ByteSink, r: SourceReading, activityName: string): void {
  const { kinds } = r;
  if (kinds[slot.msg] !== kind.absent) return putToken(sink, r, slot.msg);
  const hasTitle = kinds[slot.resultTitle] !== kind.absent;
  const hasDescription = kinds[slot.resultDescription] !== kind.absent;
  if (!hasTitle && !hasDescription) return putActivityName(sink, r, activityName);
  if (hasTitle) putToken(sink, r, slot.resultTitle);
  if (hasTitle && hasDescription) put(sink, json.titleEnd);
  if (hasDescription) putToken(sink, r, slot.resultDescription);
}

function putUser(sink: ByteSink, r: SourceReading): void {
  const { kinds } = r;
  const isText = kinds[slot.actor] === kind.text || kinds[slot.actor] === kind.escaped;
  const email = isText ? slot.actor : slot.actorEmail;
  if (kinds[slot.actorName] === 0 && kinds[email] === 0 && kinds[slot.actorType] === 0) return;
  put(sink, json.user);
  const before = sink.length;
  putMember(sink, r, slot.actorName, json.name);
  if (kinds[email] !== kind.absent) {
    if (sink.length > before) put(sink, json.comma);
    putMember(sink, r, email, json.email);
  }
  if (kinds[slot.actorType] !== kind.absent) {
    if (sink.length > before) put(sink, json.comma);
    putMember(sink, r, slot.actorType, json.type);
  }
  put(sink, json.close);
}

function putEndpoint(sink: ByteSink, r: SourceReading): void {
  const hasIp = r.kinds[slot.ip] !== kind.absent;
  const hasPort = r.kinds[slot.port] !== kind.absent;
  if (!hasIp && !hasPort) return;
  put(sink, json.endpoint);
  if (hasIp) putAddress(sink, r);
  if (hasIp && hasPort) put(sink, json.comma);
  if (hasPort) {
    put(sink, json.port);
    putInteger(sink, numberOf(r, slot.port) + 0);
  }
  put(sink, json.close);
}

const isAddress = /^[\da-f.:]+$/i;

/** Unescapes it: the column of filter `ip` is cut from the rendering. */
function putAddress(sink: ByteSink, r: SourceReading): void {
  const value = r.kinds[slot.ip] === kind.escaped ? textOf(r, slot.ip) : '';
  if (!isAddress.test(value)) {
    putMember(sink, r, slot.ip, json.ip);
    return;
  }
  put(sink, json.ip);
  putText(sink, value);
  put(sink, json.quote);
}

/**
 * `,"enrichments":[…],"extra_map":{…}`, or nothing without members. Other values than strings are JSON text. The last
 * value of a repeated name counts.
 */
function putExtra(sink: ByteSink, r: SourceReading): void {
  const { start } = r.source;
  const { extraMembers, extraLength } = r;
  if (extraLength === 0) return;
  const values = lastValues(r);
  let opening: Range = json.enrichments;
  for (let at = 0; at < extraLength; at += 4) {
    const value = values === undefined ? at : (values[at / 4] as number);
    if (value < 0) continue;
    put(sink, opening);
    opening = json.pairName;
    putRange(sink, start + (extraMembers[at] as number), start + (extraMembers[at + 1] as number));
    put(sink, json.pairValue);
    putValue(sink, start + (extraMembers[value + 2] as number), start + (extraMembers[value + 3] as number));
  }
  put(sink, json.extraMap);
  putRange(sink, start + r.extraStart, start + r.extraEnd);
}

const membersComparedMax = 16;

/** By the first member of each name, the last member of that name; undefined if all names differ. */
function lastValues(r: SourceReading): number[] | undefined {
  const { extraMembers, extraLength } = r;
  if (extraLength / 4 <= membersComparedMax && !hasEqualNames(r)) return undefined;
  const { bytes, start } = r.source;
  const firsts = new Map<string, number>();
  const values: number[] = [];
  for (let at = 0; at < extraLength; at += 4) {
    const from = start + (extraMembers[at] as number);
    const token = Buffer.from(bytes.subarray(from, start + (extraMembers[at + 1] as number))).toString();
    const name = token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
    const first = firsts.get(name);
    values.push(first === undefined ? at : -1);
    if (first === undefined) firsts.set(name, at / 4);
    else values[first] = at;
  }
  return values;
}

function hasEqualNames({ extraMembers, extraLength, source: { bytes, start } }: SourceReading): boolean {
  for (let at = 0; at < extraLength; at += 4) {
    const from = start + (extraMembers[at] as number);
    const to = start + (extraMembers[at + 1] as number);
    for (let i = from; i < to; i++) if (bytes[i] === 0x5c) return true;
    for (let other = 0; other < at; other += 4) {
      const shift = start + (extraMembers[other] as number) - from;
      if (start + (extraMembers[other + 1] as number) - shift !== to) continue;
      let i = from;
      while (i < to && bytes[i] === bytes[i + shift]) i++;
      if (i === to) return true;
    }
  }
  return false;
}

function putValue(sink: ByteSink, start: number, end: number): void {
  const code = sink.bytes[start];
  if (code === 0x22) return putRange(sink, start, end);
  put(sink, json.quote);
  if (code === 0x7b || code === 0x5b) putQuoted(sink, start, end);
  else putRange(sink, start, end);
  put(sink, json.quote);
}
