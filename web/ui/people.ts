import { foldCase } from '../../src/base/events/fold-case.ts';

/** A person's name and address, if known. */
export type Person = readonly [name: string | undefined, email: string | undefined];

/** Names shared by several addresses, in any case. */
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

/** Identifies a person: the name, or the address if others share that name. */
export function personWords([name, email]: Person, shared: ReadonlySet<string>): string | undefined {
  const isShared = name !== undefined && email !== undefined && shared.has(foldCase(name));
  return isShared ? email : (name ?? email);
}
