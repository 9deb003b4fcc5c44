import { foldCase, spellingsOf } from '../base/events/fold-case.ts';

/**
 * Names of members and the constant `actor.app_name` do not count (contract: Read). A quick condition on the whole rendering
 * comes first, which passes every event whose spelling it cannot check; the second one reads the rendering as JSON.
 */
export function wordsCondition(
  words: readonly string[],
  notWords: readonly string[] = [],
): { readonly sql: readonly string[]; readonly parameters: Readonly<Record<string, string>> } {
  const parameters: Record<string, string> = {};
  const sql = [...words, ...notWords].map((word, index) => {
    const [plain, pattern, afterName] = [`word${index}`, `pattern${index}`, `after${index}`];
    parameters[plain] = JSON.stringify(word).slice(1, -1);
    parameters[pattern] = `^${valuePattern(word)}`;
    parameters[afterName] = `^"${inString}"${valuePattern(word)}`;
    const stands = `positionCaseInsensitiveUTF8(ocsf, {${plain}:String}) > 0`;
    const inValue = [
      `match(${pieces.first}, {${pattern}:String})`,
      `match(${pieces.fromAppName}, {${afterName}:String})`,
      `match(${pieces.last}, {${pattern}:String})`,
    ];
    if (index < words.length) return `((${stands} OR ${mayHide}) AND (${inValue.join(' OR ')}))`;
    // Each part is negated by itself (storage/README.md, Conditions).
    const isAbsent = `positionCaseInsensitiveUTF8(ocsf, {${plain}:String}) = 0 AND ${hidesNothing}`;
    return `((${isAbsent}) OR (${inValue.map((one) => `NOT ${one}`).join(' AND ')}))`;
  });
  return { sql, parameters };
}

/** Any character may be an escape, and letters beyond ASCII have more than two spellings. */
const mayHide = "position(ocsf, '\\\\') > 0 OR lengthUTF8(ocsf) != length(ocsf)";
const hidesNothing = "position(ocsf, '\\\\') = 0 AND lengthUTF8(ocsf) = length(ocsf)";

/** Offsets; 0 if absent. These members come before any that a producer can name (src/ocsf/render.ts). */
const appName = '"actor":{"app_name":';
const appNameAt = `position(ocsf, '${appName}"')`;
const enrichmentsAt = `position(ocsf, ',"enrichments":[')`;
const extraAt = `position(ocsf, ',"extra_map":', ${enrichmentsAt})`;

const end = `if(${enrichmentsAt} > 0, ${enrichmentsAt}, length(ocsf))`;
const valueAt = `${appNameAt} + ${appName.length}`;

/**
 * Without `enrichments`. Cut by numbers alone: an `if` between texts would copy them, and large texts are most of a read's
 * memory.
 */
const pieces = {
  first: `substring(ocsf, 1, if(${appNameAt} > 0, ${appNameAt} - 1, ${end}))`,
  fromAppName: `substring(ocsf, ${valueAt}, if(${appNameAt} > 0, ${end} + 1 - (${valueAt}), 0))`,
  last: `substring(ocsf, if(${enrichmentsAt} > 0, ${extraAt}, length(ocsf) + 1))`,
};

const inString = String.raw`(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*`;

const upToValue = `(?:[^"]|"${inString}")*`;

/**
 * A string without a colon behind it, a number, `true`, `false` or `null`. Anchored at the beginning, so that strings and the
 * text between them cannot be confused.
 */
function valuePattern(word: string): string {
  const pattern = wordPattern(word);
  const inText = `"${inString}${pattern}${inString}"[^:]`;
  return `${upToValue}(?:${/^[-+.\w]+$/.test(word) ? `${inText}|${pattern}` : inText})`;
}

/** RE2 for a word in JSON, with every spelling and escape of each character. */
function wordPattern(word: string): string {
  // A dotted capital I folds to two characters, which are compared together.
  const characters = foldCase(word).match(/i\u0307|./gsu) ?? [];
  const patterns = characters.map((one, at) => {
    const isHalf = (one === 'i' && at === characters.length - 1) || (one === '\u0307' && at === 0);
    const spellings = [...spellingsOf(one), ...(isHalf ? ['\u0130'] : [])];
    return `(?:${spellings.map(spellingPattern).join('|')})`;
  });
  return patterns.join('');
}

const spellingPattern = (spelling: string): string => Array.from(spelling, characterPattern).join('');

function characterPattern(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => unicodeEscape(character.charCodeAt(at)));
  const itself = /^[\p{L}\p{N}]$/u.test(character) ? character : `\\x{${codePoint(character).toString(16)}}`;
  const plain = character === '"' || character === '\\' ? `\\\\${itself}` : itself;
  const [, letter] = /^\\([bfnrt])$/.exec(JSON.stringify(character).slice(1, -1)) ?? [];
  const short = character === '/' ? '/' : letter;
  return `(?:${[plain, ...(short === undefined ? [] : [`\\\\${short}`]), units.join('')].join('|')})`;
}

const codePoint = (character: string): number => character.codePointAt(0) ?? 0;

const unicodeEscape = (unit: number): string =>
  `\\\\u${unit
    .toString(16)
    .padStart(4, '0')
    .replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`;
