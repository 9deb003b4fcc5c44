import { foldCase } from '../../src/base/events/fold-case.ts';

/** Somebody's name and address, as far as they are known. */
export type Person = readonly [name: string | undefined, email: string | undefined];

/** Names that people of several addresses have, in any case of their letters. */
export function sharedNames(people: Iterable<Person>): ReadonlySet<string> {
  const emails = new Map<string, string | undefined>();
  const shared = new Set<string>();
  for (const [name, email] of people) {
    if (name === undefined) continue;
    const folded = foldCase(name);
    if (emails.has(folded) && emails.get(folded) !== email) shared.add(folded);
    emails.set(folded, email);
  }
  return shared;
}

/** What tells somebody apart: the name, or the address where others have that name, too. */
export function personWords([name, email]: Person, shared: ReadonlySet<string>): string | undefined {
  const isShared = name !== undefined && email !== undefined && shared.has(foldCase(name));
  return isShared ? email : (name ?? email);
}
