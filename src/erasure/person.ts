import { createHmac } from 'node:crypto';
import { Problem } from '../base/errors/problem.ts';
import { parseAnyEmail } from '../control/email-address.ts';
import type { Person } from '../ocsf/pseudonymize.ts';
import { limits } from './limits.ts';

const eraseTermsMax = 100;

export interface PersonOptions {
  readonly email: readonly string[];
  readonly name?: readonly string[];
  readonly id?: readonly string[];
  readonly ip?: readonly string[];
}

/** The key is in no table, so the data alone does not allow trying addresses. The first address decides, in any case. */
function makePseudonym(secret: string, organization: string, email: string): string {
  const ofOrganization = createHmac('sha256', secret).update(`pseudonyms of ${organization}`).digest();
  const address = email.normalize('NFC').toLowerCase();
  return `erased-${createHmac('sha256', ofOrganization).update(address).digest('hex').slice(0, 20)}`;
}

function checkTerms(option: string, terms: readonly string[] = []): string[] {
  const { eraseTermCharactersMin: min, eraseTermCharactersMax: max } = limits;
  return terms.map((term) => {
    const text = term.trim();
    if (text.length >= min && text.length <= max) return text;
    throw new Problem('malformed', `${option}: a text of ${min} to ${max} characters`);
  });
}

/** Throws Problem `malformed`. */
export function parsePerson(
  { email, name, id, ip }: PersonOptions,
  secret: string,
  organization: string,
): Person {
  const emails = email.map(parseAnyEmail);
  const [first] = emails;
  if (first === undefined) throw new Problem('malformed', '--email: name at least one address');
  const person = {
    emails,
    names: checkTerms('--name', name),
    ids: checkTerms('--id', id),
    ips: checkTerms('--ip', ip),
    pseudonym: makePseudonym(secret, organization, first),
  };
  const terms = [...emails, ...person.names, ...person.ids, ...person.ips].length;
  if (terms > eraseTermsMax)
    throw new Problem('malformed', `at most ${eraseTermsMax} addresses, names and ids at once`);
  return person;
}
