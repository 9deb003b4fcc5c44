import { readFileSync } from 'node:fs';
import { Ajv2020, type ErrorObject, type SchemaObject } from 'ajv/dist/2020.js';
import { limits as baseLimits } from '../base/limits.ts';
import { limits } from './limits.ts';
import { fromByteText } from './byte-text.ts';
import { type FieldPath, kind, numberOf, type SourceReading, slotOf, textOf } from './source-fields.ts';
import { parseEventTimeMicros } from '../base/timestamp.ts';

const errorsReportedMax = 5;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const maskOf = (...kinds: readonly number[]): number => kinds.reduce((mask, one) => mask | (1 << one), 1);
const text = maskOf(kind.text, kind.escaped);
const object = maskOf(kind.object);
const textOrObject = text | object;
const integer = maskOf(kind.integer);

/** Kinds that a slot may hold in an event of the usual form; what stands in the others needs a closer look. */
const usualKinds: readonly (readonly [FieldPath, number])[] = [
  ['time', maskOf(kind.text, kind.integer)],
  ['level', text],
  ['msg', text],
  ['message', object],
  ['message.timestamp', maskOf(kind.text, kind.integer)],
  ['message.actor', textOrObject],
  ['message.actor.id', text],
  ['message.actor.name', text],
  ['message.actor.email', text],
  ['message.actor.type', text],
  ['message.action', integer | object],
  ['message.action.code', integer],
  ['message.action.title', text],
  ['message.target', textOrObject],
  ['message.target.id', text],
  ['message.target.name', text],
  ['message.target.type', text],
  ['message.result', object],
  ['message.result.title', text],
  ['message.result.description', text],
  ['message.result.code', integer],
  ['message.result.detail', text],
  ['message.remote', object],
  ['message.remote.ip', text],
  ['message.remote.port', integer],
  ['message.sender', object],
  ['message.sender.file', text],
  ['message.sender.email', text],
  ['message.sender.hash', text],
  ['message.extra', object],
  ['message.flow_id', maskOf(kind.text)],
  ['message.log', object],
  ['message.log.provider', text],
  ['message.log.version', text],
  ['message.org', text],
];
const usualMasks = Uint16Array.from(usualKinds, ([, mask]) => mask);

const at = {
  time: slotOf('time'),
  timestamp: slotOf('message.timestamp'),
  message: slotOf('message'),
  action: slotOf('message.action'),
  code: slotOf('message.action.code'),
  resultCode: slotOf('message.result.code'),
  ip: slotOf('message.remote.ip'),
  port: slotOf('message.remote.port'),
  flowId: slotOf('message.flow_id'),
} as const;

const portMax = 65_535;
const codeDigitsMax = 15;

/**
 * True for events that the schema surely lets pass: the usual ones, found so several times faster than by building
 * and validating objects. What is not sure is left to the schema; a test holds this to agree with it.
 */
export function isSurelyValid(r: SourceReading): boolean {
  const { kinds } = r;
  for (let slot = 0; slot < usualMasks.length; slot++)
    if ((((usualMasks[slot] as number) >> (kinds[slot] as number)) & 1) === 0) return false;
  if (kinds[at.message] !== kind.object) return false;
  const action = kinds[at.action] === kind.object ? at.code : at.action;
  if (kinds[action] !== kind.integer || !isShort(r, action) || !isShort(r, at.resultCode)) return false;
  if (!isTime(r, at.time) || !isTime(r, at.timestamp)) return false;
  if (kinds[at.time] === kind.absent && kinds[at.timestamp] === kind.absent) return false;
  // Characters are no more than bytes.
  if (bytesOf(r, at.ip) > limits.remoteIpCharactersMax) return false;
  if (kinds[at.flowId] !== kind.absent && !isUuid(r, at.flowId)) return false;
  if (kinds[at.port] === kind.absent) return true;
  const port = isShort(r, at.port) ? numberOf(r, at.port) : -1;
  return port >= 0 && port <= portMax;
}

function isShort(r: SourceReading, slot: number): boolean {
  return bytesOf(r, slot) <= codeDigitsMax;
}

function bytesOf(r: SourceReading, slot: number): number {
  return r.kinds[slot] === kind.absent ? 0 : (r.ends[slot] as number) - (r.starts[slot] as number);
}

function isTime(r: SourceReading, slot: number): boolean {
  if (r.kinds[slot] === kind.absent) return true;
  const micros = microsOf(r, slot);
  const isSuspect = r.kinds[slot] === kind.integer && isOtherUnit(micros);
  return isEventTime(micros) && !isSuspect;
}

/** An integer this small is hardly microseconds: they would be of 1970 to March 1973. */
function isOtherUnit(micros: number | undefined): boolean {
  return micros !== undefined && micros > 0 && micros < limits.eventTimeIntegerMin;
}

/** Unix microseconds of the time in a slot that holds text or a number; undefined where it is none. */
export function microsOf(r: SourceReading, slot: number): number | undefined {
  const isText = r.kinds[slot] === kind.text || r.kinds[slot] === kind.escaped;
  return isText ? parseEventTimeMicros(textOf(r, slot)) : numberOf(r, slot);
}

/** Whether the text in a slot is a UUID in either case. */
function isUuid(r: SourceReading, slot: number): boolean {
  const { bytes } = r.cursor;
  const start = r.starts[slot] as number;
  if ((r.ends[slot] as number) - start !== 36) return false;
  for (let i = 0; i < 36; i++) {
    const code = bytes[start + i] as number;
    const isDash = i === 8 || i === 13 || i === 18 || i === 23;
    const letter = code | 0x20;
    const isHex = (code >= 0x30 && code <= 0x39) || (letter >= 0x61 && letter <= 0x66);
    if (isDash ? code !== 0x2d : !isHex) return false;
  }
  return true;
}

/** A member of an object with known fields: its name, its slot, and its own members. */
interface Member {
  readonly name: string;
  readonly slot: number;
  readonly members: readonly Member[];
}

function membersOf(prefix: string): Member[] {
  return usualKinds.flatMap(([path], slot): Member[] => {
    const name = path.slice(prefix.length);
    const isMember = path.startsWith(prefix) && !name.includes('.');
    return isMember ? [{ name, slot, members: membersOf(`${path}.`) }] : [];
  });
}

const eventMembers = membersOf('');

/** The known fields of the event as the schema is to see them. */
export function eventOf(r: SourceReading): unknown {
  return objectOf(r, eventMembers);
}

function objectOf(r: SourceReading, members: readonly Member[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const member of members) {
    const value = valueOf(r, member);
    if (value !== undefined) object[member.name] = value;
  }
  return object;
}

function valueOf(r: SourceReading, { slot, members }: Member): unknown {
  switch (r.kinds[slot] as number) {
    case kind.text:
    case kind.escaped:
      return fromByteText(textOf(r, slot));
    case kind.integer:
    case kind.number:
      return numberOf(r, slot);
    case kind.yes:
      return true;
    case kind.no:
      return false;
    case kind.object:
      return objectOf(r, members);
    case kind.array:
      return [];
    default:
      return undefined;
  }
}

/** One of the JSON Schemas that ship with the package; the same path holds from `src` and from `dist`. */
export function readSchema(name: 'source-event' | 'audit-event'): SchemaObject {
  const file = new URL(`../../schema/${name}.schema.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as SchemaObject;
}

/**
 * Compiles the schema of source events. The function returned tells whether a value is one, and if not, why: at most
 * five times `<JSON pointer>: <rule>`, joined by `; `.
 */
export function createValidator(): {
  isValid: (event: unknown) => boolean;
  describe: () => string;
} {
  const ajv = new Ajv2020({ allErrors: true, verbose: true, strictTypes: false });
  ajv.addKeyword('x-rule');
  ajv.addFormat('event-time', (text) => isEventTime(parseEventTimeMicros(text)));
  ajv.addFormat('uuid', uuidPattern);
  const validate = ajv.compile(readSchema('source-event'));
  return {
    isValid: (event) => validate(event),
    describe: () =>
      (validate.errors ?? [])
        // Says only that `then` failed, and what failed in it has said so itself.
        .filter(({ keyword }) => keyword !== 'if')
        .slice(0, errorsReportedMax)
        .map(describeError)
        .join('; '),
  };
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
  if (typeof rule === 'string') return `${instancePath}: ${rule}`;
  if (keyword === 'type') return `${instancePath}: must be ${describeTypes(params['type'])}`;
  return `${instancePath}: ${message ?? `breaks the rule "${keyword}"`}`;
}

/** `["string","object","null"]` becomes `a string or an object`: null counts as absent. */
function describeTypes(types: unknown): string {
  return String(types)
    .split(',')
    .filter((type) => type !== 'null')
    .map((type) => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`))
    .join(' or ');
}
