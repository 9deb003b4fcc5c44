import { foldCase, spellingsOf } from '../base/events/fold-case.ts';

/**
 * The condition that words stand in values of the shown event, in any case (contract: Read). Names of members do not
 * count, nor `actor.app_name`, which is the same in every event.
 *
 * The first part is quick and lets some events too many through: it looks at the whole rendering, and passes an event that
 * may have the word in a spelling that the quick look cannot see. The second part reads the rendering as JSON.
 */
export function wordsCondition(
  words: readonly string[],
  notWords: readonly string[] = [],
): {
  readonly sql: readonly string[];
  readonly parameters: Readonly<Record<string, string>>;
} {
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
    // The opposite of each part: see storage/README.md, Conditions.
    const isAbsent = `positionCaseInsensitiveUTF8(ocsf, {${plain}:String}) = 0 AND ${hidesNothing}`;
    return `((${isAbsent}) OR (${inValue.map((one) => `NOT ${one}`).join(' AND ')}))`;
  });
  return { sql, parameters };
}

/** Any character may be written as an escape, and beyond ASCII a letter has more than two spellings. */
const mayHide = "position(ocsf, '\\\\') > 0 OR lengthUTF8(ocsf) != length(ocsf)";
const hidesNothing = "position(ocsf, '\\\\') = 0 AND lengthUTF8(ocsf) = length(ocsf)";

/**
 * Where the value of `actor.app_name` begins, and where `enrichments` and `extra_map` do; 0 where there is none. These members
 * are ours, and stand before any that a producer can name (src/ocsf/render.ts).
 */
const appName = '"actor":{"app_name":';
const appNameAt = `position(ocsf, '${appName}"')`;
const enrichmentsAt = `position(ocsf, ',"enrichments":[')`;
const extraAt = `position(ocsf, ',"extra_map":', ${enrichmentsAt})`;

/** Where the rendering ends, or `enrichments` begin, which have the values of `extra_map` once more, beside their names. */
const end = `if(${enrichmentsAt} > 0, ${enrichmentsAt}, length(ocsf))`;
const valueAt = `${appNameAt} + ${appName.length}`;

/**
 * The rendering in pieces, without `enrichments`: up to `actor.app_name`, from its value on, and from `extra_map` on. Each is
 * cut by numbers alone: an `if` between texts would copy them once more, and large texts are most of what a read holds.
 */
const pieces = {
  first: `substring(ocsf, 1, if(${appNameAt} > 0, ${appNameAt} - 1, ${end}))`,
  fromAppName: `substring(ocsf, ${valueAt}, if(${appNameAt} > 0, ${end} + 1 - (${valueAt}), 0))`,
  last: `substring(ocsf, if(${enrichmentsAt} > 0, ${extraAt}, length(ocsf) + 1))`,
};

/** RE2 for what stands between the quotation marks of a string; an escape is one piece. */
const inString = String.raw`(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*`;

/** RE2 for JSON up to any place that is not within a string. */
const upToValue = `(?:[^"]|"${inString}")*`;

/**
 * RE2 for a word within a value. A string that a colon follows is a name. Numbers, `true`, `false` and `null` are values, too.
 * Looked for from the beginning of the text, so that what is a string and what stands between two of them is never mixed up.
 */
function valuePattern(word: string): string {
  const pattern = patternOf(word);
  const inText = `"${inString}${pattern}${inString}"[^:]`;
  return `${upToValue}(?:${/^[-+.\w]+$/.test(word) ? `${inText}|${pattern}` : inText})`;
}

/** RE2 for a word in JSON: each of its characters in all its spellings and escapes. */
function patternOf(word: string): string {
  // A dotted capital I folds to two characters, which are compared together.
  const characters = foldCase(word).match(/i\u0307|./gsu) ?? [];
  const patterns = characters.map((one, at) => {
    // A word may begin or end within it.
    const isHalf = (one === 'i' && at === characters.length - 1) || (one === '\u0307' && at === 0);
    const spellings = [...spellingsOf(one), ...(isHalf ? ['\u0130'] : [])];
    return `(?:${spellings.map(spellingPattern).join('|')})`;
  });
  return patterns.join('');
}

const spellingPattern = (spelling: string): string => Array.from(spelling, characterPattern).join('');

/** RE2 for one character in JSON: itself, or its escapes. */
function characterPattern(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => unicodeEscape(character.charCodeAt(at)));
  const itself = /^[\p{L}\p{N}]$/u.test(character) ? character : `\\x{${codePoint(character).toString(16)}}`;
  // A quotation mark and a backslash stand there with a backslash before them, a slash may.
  const plain = character === '"' || character === '\\' ? `\\\\${itself}` : itself;
  // These may have a short escape instead, such as a line feed.
  const [, letter] = /^\\([bfnrt])$/.exec(JSON.stringify(character).slice(1, -1)) ?? [];
  const short = character === '/' ? '/' : letter;
  return `(?:${[plain, ...(short === undefined ? [] : [`\\\\${short}`]), units.join('')].join('|')})`;
}

const codePoint = (character: string): number => character.codePointAt(0) ?? 0;

/** Its digits in either case; the `u` is always small. */
const unicodeEscape = (unit: number): string =>
  `\\\\u${unit
    .toString(16)
    .padStart(4, '0')
    .replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`;
