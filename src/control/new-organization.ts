import { keyMaker, type NewApiKey } from './api-keys.ts';
import type { Decide } from './decision.ts';
import { createOrganization, type Organization } from './organizations.ts';
import { newUser, type NewUser } from './users.ts';

/**
 * Makes an organization with its first administrator and key: all of it, or nothing. Throws Problem `malformed`, and `conflict` for a
 * slug that is taken.
 */
export function createWithAdministrator(
  input: { readonly slug: string; readonly name: string },
  person: NewUser,
  key: NewApiKey,
): Decide<{ readonly organization: Organization; readonly key: string }> {
  const make = createOrganization(input);
  const makeUser = newUser(person);
  const makeKey = keyMaker(key);
  return (state, moment) => {
    const made = make(state, moment);
    const organization = made.result;
    const user = makeUser(organization.id, moment.micros);
    const issued = makeKey(organization.id, moment.micros);
    return {
      parts: [...made.parts, ...user.parts, ...issued.parts],
      changes: [...made.changes, ...user.changes, ...issued.changes],
      result: { organization, key: issued.result.text },
    };
  };
}
