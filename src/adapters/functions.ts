import { type JSONValue, registerFunction, TYPE_ANY } from '@jmespath-community/jmespath';
import { plain } from './parse.ts';
import { isAddress, readPerson, readThing } from './persons.ts';
import { level, micros } from './words.ts';

type Argument = (record: JSONValue) => unknown;
type OwnFunction = (record: JSONValue, arguments_: readonly Argument[]) => unknown;

/** Functions beside JMESPath's: each accepts any values, and returns null if it has no result. */
export const functions: Readonly<Record<string, OwnFunction>> = {
  micros: first(micros),
  level: first(level),
  text: firstText,
  email: first(parseAddress),
  uuid: first(parseUuid),
  place: first(placeOf),
  port: first(parsePort),
  person: firstOf(readPerson),
  thing: firstOf(readThing),
  find: (record, [list, member, ...among]) =>
    find(
      list?.(record),
      member?.(record),
      among.map((one) => one(record)),
    ),
};

export function registerFunctions(): void {
  const several = [{ types: [TYPE_ANY], variadic: true }];
  for (const [name, own] of Object.entries(functions)) {
    const call = (values: readonly unknown[]): JSONValue => {
      const given = values.map((value) => () => value);
      return own(null, given) as JSONValue;
    };
    registerFunction(name, call, several, { override: true });
  }
}

function first(read: (value: unknown) => unknown): OwnFunction {
  return firstOf((value) => read(plain(value)));
}

function firstOf(read: (value: unknown) => unknown): OwnFunction {
  return (record, arguments_) => {
    for (const one of arguments_) {
      const result = read(one(record));
      if (result !== undefined) return result;
    }
    return null;
  };
}

function firstText(record: JSONValue, arguments_: readonly Argument[]): string | null {
  let empty: string | null = null;
  for (const one of arguments_) {
    const value = plain(one(record));
    if (typeof value === 'number') return String(value);
    if (typeof value !== 'string') continue;
    if (value !== '') return value;
    empty = value;
  }
  return empty;
}

function parseAddress(value: unknown): string | undefined {
  // The last part of a path, such as a session (`arn:…:assumed-role/Admin/zoe@acme.example`) or
  // `user:zoe@acme.example`.
  const name = typeof value === 'string' ? value.split(/[/#:]/).at(-1) : undefined;
  return isAddress(name) ? name : undefined;
}

const traceIdPattern = /(?:^|\/)([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/i;

/** A UUID, or a trace id written as one. */
function parseUuid(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value)) return value;
  return traceIdPattern.exec(value)?.slice(1).join('-');
}

const placeCharactersMax = 255;

/** An IP address with a port: `198.51.100.7:5432`, `[2001:db8::7]:5432`. */
const socketPattern = /^(?:([\d.]{7,15})|\[([\da-f:.]{2,45})\]):(\d{1,5})$/i;

function placeOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > placeCharactersMax) return undefined;
  const [, four, six] = socketPattern.exec(value) ?? [];
  return four ?? six ?? value;
}

function parsePort(value: unknown): number | undefined {
  const digits = typeof value === 'string' ? (socketPattern.exec(value)?.[3] ?? value) : '';
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : value;
  return typeof port === 'number' && Number.isInteger(port) && port >= 0 && port <= 65_535 ? port : undefined;
}

function find(list: unknown, member: unknown, among: readonly unknown[]): unknown {
  if (!Array.isArray(list)) return null;
  const isIt = (one: unknown): boolean =>
    typeof one === 'object' &&
    one !== null &&
    among.map(plain).includes(plain((one as Record<string, unknown>)[String(member)]));
  return list.find(isIt) ?? null;
}
