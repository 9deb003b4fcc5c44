import { Problem } from '../base/errors/problem.ts';

const controlCharacters = /[\p{Cc}\p{Cs}]/u;
const nameCharactersMax = 200;

/** A name to show: trimmed, 1 to 200 characters, without control characters. Throws Problem `malformed`. */
export function displayName(text: string): string {
  const name = text.trim();
  if (name.length >= 1 && name.length <= nameCharactersMax && !controlCharacters.test(name)) return name;
  throw new Problem(
    'malformed',
    `name must have 1 to ${nameCharactersMax} characters, none of them control characters`,
  );
}

/** A name that is too long is cut, never within a character. */
export function cutName(text: string): string {
  return text.length <= nameCharactersMax ? text : text.slice(0, nameCharactersMax).replace(/\p{Cs}$/u, '');
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuid.test(text);
}
