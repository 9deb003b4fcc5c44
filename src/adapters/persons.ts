import { LongInteger, plain } from './parse.ts';

/** Persons and things in the forms that programs use. */

type Texts = Readonly<Record<string, string>>;

export function isAddress(value: unknown): value is string {
  return typeof value === 'string' && /^[^\s@]+@[^\s@]+$/.test(value);
}

const ofPersons: Readonly<Record<string, readonly string[]>> = {
  id: ['id', 'uid', 'user_id', 'userId', 'sub'],
  name: ['name', 'full_name', 'fullName', 'displayName', 'display_name', 'username', 'userName', 'login'],
  email: ['email', 'mail', 'email_addr', 'emailAddress'],
  type: ['type'],
};
const ofThings: Readonly<Record<string, readonly string[]>> = {
  id: ['id', 'uid'],
  name: ['name', 'displayName', 'display_name', 'path', 'title'],
  type: ['type', 'kind'],
  address: ['alternateId', 'userPrincipalName', 'email'],
};

/** An actor: text as it is, a number as its id, the known members of an object; undefined without any. */
export function readPerson(value: unknown): string | Texts | undefined {
  const known = readParts(value, ofPersons);
  if (known === undefined || typeof known === 'string' || known['email'] !== undefined) return known;
  const email = [known['name'], known['id']].find(isAddress);
  return email === undefined ? known : { ...known, email };
}

/** A target, likewise; a person is named by the address. */
export function readThing(value: unknown): string | Texts | undefined {
  const known = readParts(value, ofThings);
  if (known === undefined || typeof known === 'string') return known;
  const { address, ...parts } = known;
  return isAddress(address) ? { ...parts, name: address } : parts;
}

function readParts(
  value: unknown,
  names: Readonly<Record<string, readonly string[]>>,
): string | Texts | undefined {
  if (typeof value === 'number' || value instanceof LongInteger) return { id: String(value) };
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const object = value as Readonly<Record<string, unknown>>;
  const parts: Record<string, string> = {};
  for (const [part, among] of Object.entries(names)) {
    const text = textAmong(object, among);
    if (text !== undefined) parts[part] = text;
  }
  // A type alone identifies nothing.
  return Object.keys(parts).some((part) => part !== 'type') ? parts : undefined;
}

function textAmong(object: Readonly<Record<string, unknown>>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = plain(object[name]);
    if (typeof value === 'number') return String(value);
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}
