import { Problem } from '../base/errors/problem.ts';

const emailPattern = /^[^\s@\p{Cc}\p{Cs}]{1,64}@[^\s@\p{Cc}\p{Cs}]{1,253}$/u;
const emailCharactersMax = 254;

/**
 * For comparison, without case of ASCII letters alone (contract: Credentials): otherwise the Kelvin sign would be a k.
 */
export function foldEmail(email: string): string {
  return email.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** NFKC does not change it, so no other address looks like it. */
export function isPlainEmail(email: string): boolean {
  return email.normalize('NFKC') === email;
}

/** For events. Throws Problem `malformed`. */
export function parseAnyEmail(text: string): string {
  const email = text.trim();
  if (email.length <= emailCharactersMax && emailPattern.test(email)) return email;
  throw new Problem('malformed', 'email must be an e-mail address');
}

/** For accounts. Throws Problem `malformed`. */
export function parseEmail(text: string): string {
  const email = parseAnyEmail(text);
  if (isPlainEmail(email)) return email;
  throw new Problem(
    'malformed',
    'email must be an e-mail address without characters that stand for others (NFKC)',
  );
}
