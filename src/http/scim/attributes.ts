import { Problem } from '../../base/errors/problem.ts';
import type { Provisioning } from '../../control/provisioning.ts';
import { cutName } from '../../control/names.ts';
import { type Role, roles } from '../../control/users.ts';

export type ScimChange = Provisioning & { readonly userName?: string | undefined };

const textCharactersMax = 200;
const controlCharacters = /[\p{Cc}\p{Cs}]/u;
const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:user:';

/** `type`: of RFC 7644, 3.12. */
export function scimFault(
  type: 'invalidValue' | 'invalidSyntax' | 'mutability' | 'invalidFilter',
  detail: string,
): Problem {
  return new Problem('malformed', detail, { members: { scimType: type } });
}

/** Entra sends `"False"` where the protocol has `false`. */
function readBoolean(name: string, value: unknown): boolean {
  const text = String(value).toLowerCase();
  if (typeof value !== 'object' && (text === 'true' || text === 'false')) return text === 'true';
  throw scimFault('invalidValue', `${name}: must be true or false`);
}

/** Undefined for null and for empty text. */
function readText(name: string, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim();
  throw scimFault('invalidValue', `${name}: must be a text`);
}

function readExternalId(value: unknown): string {
  const text = readText('externalId', value) ?? '';
  if (text.length <= textCharactersMax && !controlCharacters.test(text)) return text;
  throw scimFault(
    'invalidValue',
    `externalId: must have at most ${textCharactersMax} characters, none of them control characters`,
  );
}

/** The highest of the named roles: as text, `{value}`, a list of these, or Entra's JSON in a `value`. */
function readRole(value: unknown): Role | undefined {
  const list = Array.isArray(value) ? value : [value];
  const texts = list.flatMap(roleText).filter((text) => text !== '');
  if (texts.length === 0) return undefined;
  const found = roles.find((role) => texts.includes(role));
  if (found !== undefined) return found;
  throw scimFault('invalidValue', `roles: must be one of ${roles.join(', ')}`);
}

const oneRole = /^roles\[value eq "(.*)"\](\.value)?$/s;

/** Roles of the path or of the value; all if neither names any. */
function rolesTaken(path: string, value: unknown): readonly Role[] {
  const inPath = oneRole.exec(path)?.[1]?.replaceAll('\\"', '"');
  const list = Array.isArray(value) ? value : [value];
  const texts = inPath === undefined ? list.flatMap(roleText) : roleText(inPath);
  return texts.length === 0 ? roles : roles.filter((role) => texts.includes(role));
}

function roleText(one: unknown): string[] {
  const value = typeof one === 'object' && one !== null && 'value' in one ? one.value : one;
  if (typeof value !== 'string') return [];
  const inside = /^\{.*"value"\s*:\s*"([^"]*)"/s.exec(value)?.[1];
  return [(inside ?? value).trim().toLowerCase()];
}

/** The names of attributes have no case (RFC 7643, 2.1). */
class ScimAttributes {
  readonly #names = new Map<string, string | undefined>();
  #change: ScimChange = {};

  /** `path`, such as `name.givenName`. Ignores unknown ones. Throws Problem `malformed`. */
  set(path: string, value: unknown): void {
    const name = attributeName(path);
    const isNothing = value === null || value === undefined;
    if (isNothing && name !== 'externalid') return;
    if (name === 'active') this.#add({ active: readBoolean('active', value) });
    else if (name === 'username') this.#add({ userName: readText('userName', value) });
    else if (name === 'externalid') this.#add({ externalId: readExternalId(value) });
    else if (/^roles(\[[^\]]*\])?(\.value)?$/.test(name)) this.#add({ role: readRole(value) });
    else if (nameParts.has(name)) this.#names.set(name, readText(path, value));
    else if (name === 'name' || name === userSchema.slice(0, -1))
      this.setAll(value, name === 'name' ? 'name.' : '');
  }

  setAll(object: unknown, prefix = ''): void {
    if (typeof object !== 'object' || object === null || Array.isArray(object))
      throw scimFault('invalidValue', 'value: must be an object if there is no path');
    for (const [name, value] of Object.entries(object)) this.set(`${prefix}${name}`, value);
  }

  /** A user without a role gets the lowest. */
  remove(path: string, value: unknown): void {
    const name = attributeName(path);
    if (name === 'externalid') this.#add({ externalId: '' });
    else if (/^roles\b/.test(name)) this.#removeRoles(rolesTaken(name, value));
    else if (name === 'active') this.#add({ active: false });
  }

  /** `whole`: there is no other source of the name, so a part of it is used. */
  change({ whole }: { readonly whole: boolean }): ScimChange {
    const part = (name: string) => this.#names.get(name);
    const parts = [part('name.givenname'), part('name.familyname')].filter((text) => text !== undefined);
    const joined = parts.length === 2 || whole ? parts.join(' ') || undefined : undefined;
    const name = part('displayname') ?? part('name.formatted') ?? joined;
    return { ...this.#change, ...(name !== undefined && { name: cutName(name) }) };
  }

  /** Ignores roles that the user does not have. */
  #removeRoles(taken: readonly Role[]): void {
    const { role, withoutRoles = [] } = this.#change;
    if (role === undefined) this.#add({ withoutRoles: [...withoutRoles, ...taken] });
    else if (taken.includes(role)) this.#add({ role: 'member' });
  }

  #add(change: ScimChange): void {
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    this.#change = { ...this.#change, ...Object.fromEntries(given) };
  }
}

/** In lower case, without its schema. */
function attributeName(path: string): string {
  const lower = path.toLowerCase();
  return lower.startsWith(userSchema) ? lower.slice(userSchema.length) : lower;
}

const nameParts = new Set(['displayname', 'name.formatted', 'name.givenname', 'name.familyname']);

interface PatchOperation {
  readonly op: string;
  readonly path?: string | undefined;
  readonly value?: unknown;
}

/** Applies operations in order. `op` in any case: Entra writes `Replace`. Throws Problem `malformed`. */
export function changeOfPatch(operations: readonly PatchOperation[]): ScimChange {
  const attributes = new ScimAttributes();
  for (const { op, path, value } of operations) {
    const verb = op.toLowerCase();
    if (verb === 'remove') {
      if (path === undefined) throw scimFault('invalidSyntax', 'path: is required to remove a value');
      attributes.remove(path, value);
    } else if (verb === 'add' || verb === 'replace') {
      if (verb === 'replace' && isNoRole(path, value)) attributes.remove('roles', undefined);
      if (path === undefined || path === '') attributes.setAll(value);
      else attributes.set(path, value);
    } else throw scimFault('invalidSyntax', 'op: must be add, replace or remove');
  }
  return attributes.change({ whole: false });
}

/** An empty list or null, by the path or among the members of an object without one. */
function isNoRole(path: string | undefined, value: unknown): boolean {
  const given = path === undefined || path === '' ? Object.entries(value ?? {}) : [[path, value] as const];
  const isNone = (one: unknown): boolean => one === null || (Array.isArray(one) && one.length === 0);
  return given.some(([name, one]) => attributeName(name) === 'roles' && isNone(one));
}

/** POST and PUT; missing attributes stay. */
export function changeOfUserBody(body: object): ScimChange {
  const attributes = new ScimAttributes();
  attributes.setAll(body);
  return attributes.change({ whole: true });
}
