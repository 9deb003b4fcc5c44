import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { Ajv2020, type ErrorObject, type SchemaObject } from 'ajv/dist/2020.js';
import { limits } from '../base/limits.ts';
import { anObject, type FieldPath, slotOf } from './source-fields.ts';
import { parseRfc3339Micros } from '../base/timestamp.ts';

/** Values as undefined rather than absent, so that every event has the same hidden class. */
type Known<T> = { readonly [K in keyof T]: T[K] | undefined };

type SourceUser = Known<{ id: string; name: string; email: string; type: string }>;

export interface SourceMessage
  extends Known<{
    timestamp: string | number;
    actor: string | SourceUser;
    target: string | Known<{ id: string; name: string; type: string }>;
    result: Known<{ title: string; description: string; code: number; detail: string }>;
    remote: Known<{ ip: string; port: number }>;
    sender: Known<{ file: string; email: string; hash: string }>;
    extra: object;
    flow_id: string;
    log: Known<{ provider: string; version: string }>;
    org: string;
  }> {
  readonly action: number | { readonly code: number; readonly title: string | undefined };
}

/** The known fields of a valid source event (contract: Ingest). */
export interface SourceEvent extends Known<{ time: string | number; level: string; msg: string }> {
  readonly message: SourceMessage;
}

const errorsReportedMax = 5;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const s = (path: FieldPath) => slotOf(path);
const slot = {
  time: s('time'),
  level: s('level'),
  msg: s('msg'),
  message: s('message'),
  timestamp: s('message.timestamp'),
  actor: s('message.actor'),
  action: s('message.action'),
  target: s('message.target'),
  result: s('message.result'),
  remote: s('message.remote'),
  sender: s('message.sender'),
  extra: s('message.extra'),
  flowId: s('message.flow_id'),
  log: s('message.log'),
  org: s('message.org'),
} as const;

/** The event that the slots of a reading hold; values are not checked yet. Members follow their field's slot. */
export function sourceOfSlots(slots: readonly unknown[]): unknown {
  return {
    time: slots[slot.time],
    level: slots[slot.level],
    msg: slots[slot.msg],
    message: slots[slot.message] === anObject ? messageOfSlots(slots) : slots[slot.message],
  };
}

function messageOfSlots(slots: readonly unknown[]): unknown {
  const { actor, action, target, result, remote, sender, log } = slot;
  return {
    timestamp: slots[slot.timestamp],
    actor:
      slots[actor] === anObject
        ? { id: slots[actor + 1], name: slots[actor + 2], email: slots[actor + 3], type: slots[actor + 4] }
        : slots[actor],
    action:
      slots[action] === anObject ? { code: slots[action + 1], title: slots[action + 2] } : slots[action],
    target:
      slots[target] === anObject
        ? { id: slots[target + 1], name: slots[target + 2], type: slots[target + 3] }
        : slots[target],
    result:
      slots[result] === anObject
        ? {
            title: slots[result + 1],
            description: slots[result + 2],
            code: slots[result + 3],
            detail: slots[result + 4],
          }
        : slots[result],
    remote: slots[remote] === anObject ? { ip: slots[remote + 1], port: slots[remote + 2] } : slots[remote],
    sender:
      slots[sender] === anObject
        ? { file: slots[sender + 1], email: slots[sender + 2], hash: slots[sender + 3] }
        : slots[sender],
    extra: slots[slot.extra],
    flow_id: slots[slot.flowId],
    log: slots[log] === anObject ? { provider: slots[log + 1], version: slots[log + 2] } : slots[log],
    org: slots[slot.org],
  };
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
  isValid: (event: unknown) => event is SourceEvent;
  describe: () => string;
} {
  const ajv = new Ajv2020({ allErrors: true, verbose: true, strictTypes: false });
  ajv.addKeyword('x-rule');
  ajv.addFormat('date-time', (text) => isEventTime(parseRfc3339Micros(text)));
  ajv.addFormat('uuid', uuidPattern);
  ajv.addFormat('ip', isAddress);
  const validate = ajv.compile<SourceEvent>(readSchema('source-event'));
  return {
    isValid: (event): event is SourceEvent => validate(event),
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
  return micros !== undefined && micros >= limits.eventTimeMicrosMin && micros <= limits.eventTimeMicrosMax;
}

/** IPv4 or IPv6 text; a zone names an interface of the sender's machine and means nothing here. */
function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%');
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
