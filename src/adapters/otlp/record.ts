import { Problem } from '../../base/errors/problem.ts';
import { limits as ocsfLimits } from '../../ocsf/limits.ts';
import { limits } from './limits.ts';

/** A log record's own fields. Absent ones and protobuf's defaults are undefined; values are JSON texts. */
export interface RecordFields {
  readonly timeUnixNano?: string | undefined;
  readonly observedTimeUnixNano?: string | undefined;
  readonly severityNumber?: number | undefined;
  readonly severityText?: string | undefined;
  readonly eventName?: string | undefined;
  readonly body?: string | undefined;
  readonly attributes?: string | undefined;
  readonly droppedAttributesCount?: number | undefined;
  readonly flags?: number | undefined;
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
}

/** Attributes are a JSON text. */
export interface Resource {
  readonly attributes?: string | undefined;
  readonly droppedAttributesCount?: number | undefined;
}

export interface Scope extends Resource {
  readonly name?: string | undefined;
  readonly version?: string | undefined;
}

/**
 * Replaces a record larger than an event: it is too large itself, so the event rules refuse it. Reading it
 * could take all memory of a thread.
 */
export const oversizedRecord = `{"body":"${' '.repeat(ocsfLimits.eventBytesMax)}"}`;

/** Refuses one record, not its list. `pointer` is in the encoding read. */
export class RecordFault extends Error {
  readonly pointer: string;
  readonly rule: string;

  constructor(pointer: string, rule: string) {
    super(`${pointer}: ${rule}`);
    this.pointer = pointer;
    this.rule = rule;
  }
}

/** Replaces a record that breaks a rule of OTLP: a JSON string, which no sender can make a record. */
export const refusedRecord = (pointer: string, rule: string): string => JSON.stringify(`${pointer}: ${rule}`);

export const refusalIn = (line: string): string => JSON.parse(line) as string;

/** Throws RecordFault for a text that no event may have. */
export function checkText(text: string, pointer: string): void {
  if (text.includes('\0')) throw new RecordFault(pointer, 'must not contain NUL');
  if (/\p{Surrogate}/u.test(text)) throw new RecordFault(pointer, 'must not contain a lone surrogate');
}

export function tooDeep(pointer: string): RecordFault {
  return new RecordFault(pointer, `must not be nested deeper than ${limits.valueDepthMax} levels`);
}

export const isOversized = (bytes: number): boolean => bytes > ocsfLimits.eventBytesMax;

/**
 * Throws Problem `too_large` for a resource or a scope of this size, which each of its records would repeat.
 */
export function checkSharedSize(bytes: number): void {
  if (!isOversized(bytes)) return;
  const most = ocsfLimits.eventBytesMax;
  throw new Problem(
    'too_large',
    `A resource and a scope may have at most ${most} bytes, as each record has them.`,
  );
}

type Member = readonly [name: string, text: string | undefined];

function writeObject(members: readonly Member[]): string | undefined {
  const there = members.filter(([, text]) => text !== undefined);
  return there.length === 0
    ? undefined
    : `{${there.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

function writeText(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : JSON.stringify(value);
}

function writeNumber(value: number | undefined): string | undefined {
  return value === undefined || value === 0 ? undefined : String(value);
}

/** Time and ids: all zeros mean none. */
function nonZero(value: string | undefined): string | undefined {
  return value === undefined || /^0*$/.test(value) ? undefined : JSON.stringify(value);
}

/** A double as JSON text. NaN and infinities are strings, as in protobuf's JSON. */
export function doubleText(value: number): string {
  if (!Number.isFinite(value)) return JSON.stringify(String(value));
  return Object.is(value, -0) ? '-0' : String(value);
}

/** Of a repeated key the last counts. Undefined if empty. */
export function attributesText(attributes: ReadonlyMap<string, string>): string | undefined {
  return writeObject([...attributes]);
}

export function sharedText(
  resource: Resource & { readonly schemaUrl?: string | undefined },
  scope: Scope & { readonly schemaUrl?: string | undefined },
): readonly Member[] {
  const common = ({ attributes, droppedAttributesCount, schemaUrl }: typeof resource): Member[] => [
    ['attributes', attributes],
    ['droppedAttributesCount', writeNumber(droppedAttributesCount)],
    ['schemaUrl', writeText(schemaUrl)],
  ];
  const ofScope: Member[] = [
    ['name', writeText(scope.name)],
    ['version', writeText(scope.version)],
    ...common(scope),
  ];
  return [
    ['resource', writeObject(common(resource))],
    ['scope', writeObject(ofScope)],
  ];
}

/**
 * Smaller values are seconds, milliseconds or microseconds by mistake, as in source events (contract:
 * Ingest).
 */
const nanosMin = 10n ** 17n;

function faultIn(record: RecordFields): readonly [pointer: string, rule: string] | undefined {
  const isTimed = nonZero(record.timeUnixNano) !== undefined;
  const name = isTimed ? 'timeUnixNano' : 'observedTimeUnixNano';
  const time = nonZero(record[name]);
  if (time === undefined) return ['/timeUnixNano', 'is required, or observedTimeUnixNano'];
  if (BigInt(JSON.parse(time) as string) < nanosMin)
    return [`/${name}`, 'must be nanoseconds since 1970; a number below 10^17 looks like a larger unit'];
  for (const [id, bytes] of [
    ['traceId', 16],
    ['spanId', 8],
  ] as const) {
    const digits = record[id] ?? '';
    if (digits !== '' && (digits.length !== bytes * 2 || !/^[\da-f]*$/.test(digits)))
      return [`/${id}`, `must be ${bytes} bytes, which are ${bytes * 2} hexadecimal digits in JSON`];
  }
  return undefined;
}

/** One JSON object on one line, as the mapping `otlp` reads it. */
export function recordText(record: RecordFields, shared: readonly Member[]): string {
  const fault = faultIn(record);
  if (fault !== undefined) return refusedRecord(...fault);
  const text = writeObject([
    ['timeUnixNano', nonZero(record.timeUnixNano)],
    ['observedTimeUnixNano', nonZero(record.observedTimeUnixNano)],
    ['severityNumber', writeNumber(record.severityNumber)],
    ['severityText', writeText(record.severityText)],
    ['eventName', writeText(record.eventName)],
    ['body', record.body],
    ['attributes', record.attributes],
    ['droppedAttributesCount', writeNumber(record.droppedAttributesCount)],
    ['flags', writeNumber(record.flags)],
    ['traceId', nonZero(record.traceId)],
    ['spanId', nonZero(record.spanId)],
    ...shared,
  ]);
  return text ?? '{}';
}
