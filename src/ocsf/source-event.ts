import { readFileSync } from 'node:fs';
import { Ajv2020, type ErrorObject, type SchemaObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { faultText } from '../base/errors/fault.ts';
import { limits as baseLimits } from '../base/limits.ts';
import { limits } from './limits.ts';
import { fromByteText } from './byte-text.ts';
import {
  eventMembers,
  type Field,
  kind,
  numberOf,
  type SourceReading,
  slot,
  textOf,
  usualKinds,
} from './source-fields.ts';
import { parseEventTimeMicros } from '../base/time/timestamp.ts';
import { usualMicros } from './usual-time.ts';

const remoteIpCharactersMax = 255;

const errorsReportedMax = 5;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const portMax = 65_535;
const codeDigitsMax = 15;

/** True only for events that pass the schema, several times faster than validation; a test compares both. */
export function isSurelyValid(r: SourceReading): boolean {
  const { kinds } = r;
  for (let at = 0; at < usualKinds.length; at++)
    if ((((usualKinds[at] as number) >> (kinds[at] as number)) & 1) === 0) return false;
  if (kinds[slot.message] !== kind.object) return false;
  const action = kinds[slot.action] === kind.object ? slot.actionCode : slot.action;
  if (kinds[action] !== kind.integer || !isShort(r, action) || !isShort(r, slot.resultCode)) return false;
  if (!isTime(r, slot.time) || !isTime(r, slot.timestamp)) return false;
  if (kinds[slot.time] === kind.absent && kinds[slot.timestamp] === kind.absent) return false;
  // There are at most as many characters as bytes.
  if (bytesOf(r, slot.ip) > remoteIpCharactersMax) return false;
  if (kinds[slot.flowId] !== kind.absent && !isUuid(r, slot.flowId)) return false;
  if (kinds[slot.port] === kind.absent) return true;
  const port = isShort(r, slot.port) ? numberOf(r, slot.port) : -1;
  return port >= 0 && port <= portMax;
}

const isShort = (r: SourceReading, at: number): boolean => bytesOf(r, at) <= codeDigitsMax;

function bytesOf(r: SourceReading, at: number): number {
  return r.kinds[at] === kind.absent ? 0 : (r.ends[at] as number) - (r.starts[at] as number);
}

function isTime(r: SourceReading, at: number): boolean {
  if (r.kinds[at] === kind.absent) return true;
  const micros = readMicros(r, at);
  const isSuspect = r.kinds[at] === kind.integer && isOtherUnit(micros);
  return isEventTime(micros) && !isSuspect;
}

/** Microseconds this small would be 1970 to March 1973. */
function isOtherUnit(micros: number | undefined): boolean {
  return micros !== undefined && micros > 0 && micros < limits.eventTimeIntegerMin;
}

/** Unix microseconds of the text or number in a slot; undefined if invalid. */
export function readMicros(r: SourceReading, at: number): number | undefined {
  const isText = r.kinds[at] === kind.text || r.kinds[at] === kind.escaped;
  if (!isText) return numberOf(r, at);
  const { cursor, starts, ends } = r;
  const usual = usualMicros(cursor.view, starts[at] as number, ends[at] as number);
  return usual >= 0 ? usual : parseEventTimeMicros(textOf(r, at));
}

function isUuid(r: SourceReading, at: number): boolean {
  const { bytes } = r.cursor;
  const start = r.starts[at] as number;
  if ((r.ends[at] as number) - start !== 36) return false;
  for (let i = 0; i < 36; i++) {
    const code = bytes[start + i] as number;
    const isDash = i === 8 || i === 13 || i === 18 || i === 23;
    const letter = code | 0x20;
    const isHex = (code >= 0x30 && code <= 0x39) || (letter >= 0x61 && letter <= 0x66);
    if (isDash ? code !== 0x2d : !isHex) return false;
  }
  return true;
}

export const toEvent = (r: SourceReading): unknown => toObject(r, eventMembers.all);

function toObject(r: SourceReading, members: readonly Field[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const member of members) {
    const value = toValue(r, member);
    if (value !== undefined) object[member.name] = value;
  }
  return object;
}

function toValue(r: SourceReading, { slot: at, members }: Field): unknown {
  switch (r.kinds[at] as number) {
    case kind.text:
    case kind.escaped:
      return fromByteText(textOf(r, at));
    case kind.integer:
    case kind.number:
      return numberOf(r, at);
    case kind.yes:
      return true;
    case kind.no:
      return false;
    case kind.object:
      return toObject(r, members.all);
    case kind.array:
      return [];
    default:
      return undefined;
  }
}

/** A JSON Schema of the package; the path is valid from `src` and `dist`. */
export function readSchema(name: 'source-event' | 'audit-event'): SchemaObject {
  const file = new URL(`../../schema/${name}.schema.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as SchemaObject;
}

function compileSchema(): ValidateFunction {
  const ajv = new Ajv2020({ allErrors: true, verbose: true, strictTypes: false });
  ajv.addKeyword('x-rule');
  ajv.addFormat('event-time', (text) => isEventTime(parseEventTimeMicros(text)));
  ajv.addFormat('uuid', uuidPattern);
  return ajv.compile(readSchema('source-event'));
}

/** Shared by all validators of a thread: compiling takes 30 ms. */
let compiled: ValidateFunction | undefined;

export class SourceValidator {
  readonly #validate: ValidateFunction;

  constructor() {
    compiled ??= compileSchema();
    this.#validate = compiled;
  }

  isValid(event: unknown): boolean {
    return this.#validate(event);
  }

  describe(): string {
    // `if` only repeats that `then` failed.
    const errors = (this.#validate.errors ?? []).filter(({ keyword }) => keyword !== 'if');
    return errors.slice(0, errorsReportedMax).map(describeError).join('; ');
  }
}

function isEventTime(micros: number | undefined): boolean {
  return (
    micros !== undefined && micros >= baseLimits.eventTimeMicrosMin && micros <= baseLimits.eventTimeMicrosMax
  );
}

function describeError(error: ErrorObject): string {
  const { keyword, instancePath, params, message, parentSchema } = error;
  if (keyword === 'required') return `${instancePath}/${String(params['missingProperty'])}: is required`;
  const rule: unknown = parentSchema?.['x-rule'];
  if (typeof rule === 'string') return faultText('event', instancePath, rule);
  if (keyword === 'type') return faultText('event', instancePath, `must be ${describeTypes(params['type'])}`);
  return faultText('event', instancePath, message ?? `breaks the rule "${keyword}"`);
}

/** `["string","object","null"]` becomes `a string or an object`: null counts as absent. */
function describeTypes(types: unknown): string {
  return String(types)
    .split(',')
    .filter((type) => type !== 'null')
    .map((type) => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`))
    .join(' or ');
}
