import { Problem } from '../base/errors/problem.ts';

const emailPattern = /^[^\s@\p{Cc}\p{Cs}]{1,64}@[^\s@\p{Cc}\p{Cs}]{1,253}$/u;
const emailCharactersMax = 254;

/**
 * An address as accounts are compared by it: ASCII letters alone have no case (contract: Credentials). Letter case beyond
 * ASCII makes one letter of several: the Kelvin sign would be a k.
 */
export function foldEmail(email: string): string {
  return email.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Whether it is an address that no other one looks like: NFKC changes nothing of it. */
export function isPlainEmail(email: string): boolean {
  return email.normalize('NFKC') === email;
}

/** An address as it may stand in events. Throws Problem `malformed`. */
export function parseAnyEmail(text: string): string {
  const email = text.trim();
  if (email.length <= emailCharactersMax && emailPattern.test(email)) return email;
  throw new Problem('malformed', 'email must be an e-mail address');
}

/** The address of an account. Throws Problem `malformed`. */
export function parseEmail(text: string): string {
  const email = parseAnyEmail(text);
  if (isPlainEmail(email)) return email;
  throw new Problem(
    'malformed',
    'email must be an e-mail address without characters that stand for others (NFKC)',
  );
}
