import { endUnseen, keyMaker, type NewApiKey } from './api-keys.ts';
import { type Decide, together } from './decision.ts';
import { createOrganization, findOrganization, type Organization } from './organizations.ts';
import { newUser, type NewUser } from './users.ts';

/**
 * With its first administrator and key: all or nothing. A repeat only makes another key. Throws Problem `malformed`, and
 * `conflict` for a used slug.
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
    if (moment.unseen !== undefined) {
      const organization = findOrganization(state, input.slug);
      const issued = makeKey(organization.id, moment.micros);
      const result = { organization, key: issued.result.text };
      return together(endUnseen(state, moment), { ...issued, result });
    }
    const made = make(state, moment);
    const organization = made.result;
    const user = makeUser(organization.id, moment.micros);
    const issued = makeKey(organization.id, moment.micros);
    return {
      parts: [...made.parts, ...user.parts, ...issued.parts],
      changes: [...made.changes, ...user.changes, ...issued.changes],
      result: { organization, key: issued.result.text },
      unseen: issued.result.apiKey,
    };
  };
}
