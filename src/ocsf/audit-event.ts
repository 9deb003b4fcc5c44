import { limits } from '../base/limits.ts';
import { activityName } from './activities.ts';
import { lowerByteText, toByteText, type Window } from './byte-text.ts';
import { firstToken, lastToken } from './json-array.ts';
import { createKeyTest } from './redact.ts';
import { createFieldsRenderer, renderExtra } from './render.ts';
import { createValidator, type SourceEvent, type SourceMessage, sourceOfSlots } from './source-event.ts';
import { createReading, readSource, releaseReading } from './source-fields.ts';
import { parseRfc3339Micros } from '../base/timestamp.ts';

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
 * One row: typed columns for matching, then the two payloads. Strings are byte text (see byte-text.ts); those for
 * matching are lower-cased.
 */
export interface MappedEvent {
  readonly org: string;
  readonly retentionDays: number | undefined;
  /** Unix microseconds, UTC. */
  readonly timeMicros: number;
  readonly activityId: number;
  readonly activityName: string;
  readonly severity: string;
  readonly status: string;
  /** As the producer sent it; empty when absent. */
  readonly level: string;
  readonly resultCode: number;
  /** Empty when the event has none; so is `actorId`. */
  readonly actorEmail: string;
  readonly actorId: string;
  /** The sender's file and the target's name, each once. */
  readonly names: string[];
  /** `sender.hash` and `extra.fileHash`, each once. */
  readonly fileHashes: string[];
  /** Lower case; empty when there is none. */
  readonly flowId: string;
  /** The audit event from `"time":` to the inside of `metadata`: see envelope.ts. */
  readonly ocsf: string;
  /** The producer's text without whitespace between tokens, redacted. */
  readonly source: string;
}

export interface MapperOptions {
  /** Fixed text of `actor.app_name`. */
  readonly appName: string;
  /** Names whose values in `extra` are never stored, in any case. */
  readonly redactKeys: readonly string[];
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

const nilUuid = '00000000-0000-0000-0000-000000000000';
const resultCodeDefault = 200;
const failureCodeMin = 400;

/** A mapper with its compiled schemas and its working memory: one a thread, as calls must not overlap. */
export function createMapper(options: MapperOptions): MapEvent {
  const reading = createReading(createKeyTest(options.redactKeys));
  const validator = createValidator();
  const renderFields = createFieldsRenderer();
  const appName = toByteText(options.appName);

  const mapRead = (resolveOrg: ResolveOrg): MappedEvent | string => {
    const event: unknown = sourceOfSlots(reading.slots);
    if (!validator.isValid(event)) return validator.describe();
    const org = resolveOrg(event.message.org);
    if (typeof org === 'string') return org;

    const hasExtra = event.message.extra !== undefined;
    const row = mapColumns(event, org, hasExtra ? reading.fileHash : '');
    const fields = renderFields(renderedFields(event, row, appName)).slice(1, -1);
    row.ocsf = `${fields}${hasExtra ? renderExtra(reading) : ''},"metadata":{${renderLog(event.message)}`;
    row.source = reading.source;
    return row;
  };

  return (window, from, to, resolveOrg) => {
    const start = firstToken(window.bytes, from, to);
    const end = lastToken(window.bytes, start, to);
    // The bound holds for the event as it was sent, whitespace between its tokens included.
    if (end - start > limits.eventBytesMax) return `: must be at most ${limits.eventBytesMax} bytes`;
    try {
      return readSource(reading, window, start, end) ?? mapRead(resolveOrg);
    } finally {
      releaseReading(reading);
    }
  };
}

type Row = { -readonly [K in keyof MappedEvent]: MappedEvent[K] };

/** All but the payloads, which the caller fills in. */
function mapColumns({ time, level, message }: SourceEvent, org: OrgReference, fileHash: string): Row {
  const { actor, action, target, sender, result } = message;
  const code = (typeof action === 'number' ? action : action.code) + 0;
  const resultCode = (result?.code ?? resultCodeDefault) + 0;
  const targetName = typeof target === 'string' ? target : target?.name;
  const flowId = message.flow_id?.toLowerCase() ?? '';
  return {
    org: org.id,
    retentionDays: org.retentionDays,
    timeMicros: microsOf(message.timestamp ?? time),
    activityId: code,
    activityName: activityName(code, typeof action === 'number' ? undefined : action.title),
    severity: level === 'ERROR' ? 'High' : level === 'WARN' ? 'Medium' : 'Informational',
    status: resultCode < failureCodeMin ? 'Success' : 'Failure',
    level: level ?? '',
    resultCode,
    actorEmail: lowerByteText((typeof actor === 'string' ? actor : actor?.email) ?? ''),
    actorId: lowerByteText(typeof actor === 'string' ? '' : (actor?.id ?? '')),
    names: distinctLower(sender?.file, targetName),
    fileHashes: distinctLower(sender?.hash, fileHash),
    flowId: flowId === nilUuid ? '' : flowId,
    ocsf: '',
    source: '',
  };
}

/** A time that the schema has let pass; the addition turns a negative zero into zero. */
function microsOf(time: string | number | undefined): number {
  const micros = typeof time === 'string' ? parseRfc3339Micros(time) : time;
  if (micros === undefined) throw new Error('a valid event has a valid time');
  return micros + 0;
}

function distinctLower(first: string | undefined, second: string | undefined): string[] {
  const one = lowerByteText(first ?? '');
  const two = lowerByteText(second ?? '');
  if (one === '') return two === '' ? [] : [two];
  return two === '' || two === one ? [one] : [one, two];
}

function renderedFields(event: SourceEvent, row: Row, appName: string) {
  const { actor, remote, result } = event.message;
  const ip = remote?.ip;
  const port = remote?.port;
  return {
    time: row.timeMicros,
    activity_id: row.activityId,
    activity_name: row.activityName,
    severity: row.severity,
    severity_id: row.severity === 'High' ? 4 : row.severity === 'Medium' ? 3 : 1,
    status: row.status,
    status_id: row.status === 'Success' ? 1 : 2,
    status_detail: result?.detail,
    message: event.msg ?? messageOfResult(result) ?? row.activityName,
    actor: { user: userOf(actor), app_name: appName },
    src_endpoint: ip === undefined && port === undefined ? undefined : { ip, port },
    flow_id: row.flowId === '' ? undefined : row.flowId,
  };
}

function userOf(actor: SourceMessage['actor']) {
  if (actor === undefined) return undefined;
  if (typeof actor === 'string') return { name: undefined, email_addr: actor, type: undefined };
  const { name, email, type } = actor;
  if (name === undefined && email === undefined && type === undefined) return undefined;
  return { name, email_addr: email, type };
}

function messageOfResult(result: SourceMessage['result']): string | undefined {
  const title = result?.title;
  const description = result?.description;
  if (title === undefined || description === undefined) return title ?? description;
  return `${title}: ${description}`;
}

/** The source's members of `metadata`, each followed by a comma. */
function renderLog({ log }: SourceMessage): string {
  if (log === undefined) return '';
  const provider = log.provider === undefined ? '' : `"log_provider":${JSON.stringify(log.provider)},`;
  const version = log.version === undefined ? '' : `"log_version":${JSON.stringify(log.version)},`;
  return provider + version;
}
