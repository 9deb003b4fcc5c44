import { foldCase } from '../base/events/fold-case.ts';
import { addressOfPseudonym } from '../base/events/pseudonym.ts';

/** The pseudonym replaces all of these. */
export interface Person {
  readonly emails: readonly string[];
  readonly names: readonly string[];
  readonly ids: readonly string[];
  readonly ips: readonly string[];
  readonly pseudonym: string;
}

interface Text {
  /** 0: none. */
  readonly owner: number;
  readonly name: string;
  /** Names of members from the root, separated by NUL (which no event has). */
  readonly path: string;
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

interface Container {
  readonly id: number;
  readonly isArray: boolean;
  readonly path: string;
}

const joinPath = (...names: readonly string[]): string => names.join('\0');

/** These members never name a person. */
const kept: ReadonlySet<string> = new Set([
  joinPath('time'),
  joinPath('level'),
  joinPath('message', 'timestamp'),
  joinPath('message', 'flow_id'),
  joinPath('message', 'org'),
  joinPath('message', 'sender', 'hash'),
]);
const actorPaths: ReadonlySet<string> = new Set([
  joinPath('message', 'actor'),
  joinPath('message', 'actor', 'name'),
]);
const namePaths: ReadonlySet<string> = new Set([
  ...actorPaths,
  joinPath('message', 'target'),
  joinPath('message', 'target', 'name'),
]);
const addressPath = joinPath('message', 'remote', 'ip');
/** Members that name the person of an object, without `_`, `-` and case. */
const nameMembers: ReadonlySet<string> = new Set(
  'name displayname fullname firstname lastname givenname familyname surname username login phone'.split(' '),
);

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

function readTexts(source: string): Text[] {
  const texts: Text[] = [];
  const open: Container[] = [];
  let ids = 0;
  let name = '';
  let isName = false;
  const place = (): string => {
    const inner = open.at(-1);
    if (inner === undefined) return '';
    return inner.path === '' ? name : joinPath(inner.path, name);
  };
  for (const { 0: token, index } of source.matchAll(tokens)) {
    const inner = open.at(-1);
    if (token === '{' || token === '[') {
      open.push({ id: ++ids, isArray: token === '[', path: place() });
      isName = token === '{';
      name = '';
    } else if (token === '}' || token === ']') open.pop();
    else if (token === ',') isName = inner?.isArray === false;
    else if (token === ':') isName = false;
    else if (isName) name = JSON.parse(token) as string;
    else {
      const owner = inner?.isArray === false ? inner.id : 0;
      const value = JSON.parse(token) as string;
      texts.push({ owner, name, path: place(), start: index, end: index + token.length, value });
    }
  }
  return texts;
}

const escapeRegExp = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Matches any of some texts as whole words, in any case; undefined without texts. */
function wordsPattern(texts: readonly string[], before: string, after: string): RegExp | undefined {
  if (texts.length === 0) return undefined;
  const longestFirst = texts.toSorted((a, b) => b.length - a.length).map(escapeRegExp);
  return new RegExp(`(?<!${before})(?:${longestFirst.join('|')})(?!${after})`, 'giu');
}

/**
 * Removes one person from source events: in string values, not in member names. An event is theirs if
 *
 * - a text contains one of their addresses as a word, or a value is one of their ids;
 * - its actor or target has exactly one of their names;
 * - it came from one of their IP addresses: then only the address is replaced.
 *
 * In their events names and IP addresses are replaced as words of any text, with the names in any object that has their
 * address or id, and with the origin's IP address if they are the actor.
 */
export class Pseudonymizer {
  readonly #person: Person;
  readonly #emails: RegExp | undefined;
  readonly #names: RegExp | undefined;
  readonly #ips: RegExp | undefined;
  readonly #exact: ReadonlySet<string>;
  readonly #exactNames: ReadonlySet<string>;

  constructor(person: Person) {
    this.#person = person;
    this.#emails = wordsPattern(person.emails, '[\\p{L}\\p{N}._%+-]', '[\\p{L}\\p{N}_-]|\\.[\\p{L}\\p{N}]');
    this.#names = wordsPattern(person.names, '[\\p{L}\\p{N}]', '[\\p{L}\\p{N}]');
    this.#ips = wordsPattern(person.ips, '[\\p{L}\\p{N}.:]', '[\\p{L}\\p{N}:]|\\.\\p{N}');
    this.#exact = new Set([...person.emails, ...person.ids].map(foldCase));
    this.#exactNames = new Set(person.names.map(foldCase));
  }

  /**
   * The source event without the person, otherwise byte by byte the same; undefined if it does not mention
   * them.
   */
  rewrite(source: string): string | undefined {
    const texts = readTexts(source).filter(({ path }) => !kept.has(path));
    const isNamed = texts.some(({ value }) => this.#mentionsPerson(value));
    const owners = new Set(texts.filter(({ value }) => this.#isExact(value)).map(({ owner }) => owner));
    owners.delete(0);
    const bearsName = texts.some(({ path, value }) => namePaths.has(path) && this.#hasName(value));
    const isTheirs = isNamed || bearsName;
    const acts = texts.some(
      ({ path, owner, value }) =>
        (actorPaths.has(path) && (this.#isExact(value) || this.#hasName(value))) ||
        (path.startsWith(joinPath('message', 'actor', '')) && owners.has(owner)),
    );
    let rewritten = '';
    let at = 0;
    for (const text of texts) {
      const value = this.#replace(text, { isTheirs, acts, isOwned: owners.has(text.owner) });
      if (value === text.value) continue;
      rewritten += source.slice(at, text.start) + JSON.stringify(value);
      at = text.end;
    }
    return at === 0 ? undefined : rewritten + source.slice(at);
  }

  #replace(
    { path, name, value }: Text,
    { isTheirs, acts, isOwned }: Readonly<Record<'isTheirs' | 'acts' | 'isOwned', boolean>>,
  ): string {
    const { pseudonym, ids } = this.#person;
    if (value === '') return value;
    if (path === addressPath && (acts || this.#isIp(value))) return pseudonym;
    if (!isTheirs) return value;
    if (ids.includes(value)) return pseudonym;
    let replaced = value;
    if (this.#emails) replaced = replaced.replace(this.#emails, addressOfPseudonym(pseudonym));
    if (this.#names) replaced = replaced.replace(this.#names, pseudonym);
    if (this.#ips) replaced = replaced.replace(this.#ips, pseudonym);
    const isName = nameMembers.has(name.toLowerCase().replaceAll(/[-_]/g, ''));
    return replaced === value && isOwned && isName ? pseudonym : replaced;
  }

  #mentionsPerson(value: string): boolean {
    if (this.#person.ids.includes(value)) return true;
    if (this.#emails === undefined) return false;
    this.#emails.lastIndex = 0;
    return this.#emails.test(value);
  }

  #isExact(value: string): boolean {
    return this.#exact.has(foldCase(value));
  }

  #hasName(value: string): boolean {
    return this.#exactNames.has(foldCase(value));
  }

  #isIp(value: string): boolean {
    return this.#person.ips.includes(value);
  }
}
