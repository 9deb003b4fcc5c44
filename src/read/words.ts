/**
 * The condition that words stand in the shown text of an event, in any case. The text is JSON as its producer wrote it:
 * any character may stand there as an escape, which only texts with a backslash are looked through for.
 */
export function wordsCondition(words: readonly string[]): {
  readonly sql: readonly string[];
  readonly parameters: Readonly<Record<string, string>>;
} {
  const parameters: Record<string, string> = {};
  const sql = words.map((word, index) => {
    const plain = spellingsOf(word).map((spelling, at) => {
      const name = `word${index}${at === 0 ? '' : `_${at}`}`;
      parameters[name] = JSON.stringify(spelling).slice(1, -1);
      return `positionCaseInsensitiveUTF8(ocsf, {${name}:String}) > 0 OR `;
    });
    parameters[`escaped${index}`] = `(?i)${Array.from(word, patternOf).join('')}`;
    return `(${plain.join('')}(position(ocsf, '\\\\') > 0 AND match(ocsf, {escaped${index}:String})))`;
  });
  return { sql, parameters };
}

/**
 * A word as it is written, and in lower case where that is another than its letters have one by one: the engine compares
 * letter by letter, and a Greek word has another sigma at its end, of which it does not know the capital letter. As it
 * is written a word is found in any case.
 */
function spellingsOf(word: string): readonly string[] {
  const lower = word.toLowerCase();
  const byLetter = Array.from(word, (one) => one.toLowerCase()).join('');
  const spellings = lower === byLetter ? [word] : [word, lower];
  return word.includes('ς') ? [...spellings, word.replaceAll('ς', 'σ')] : spellings;
}

/** RE2 for a character in JSON: itself, or its escapes. */
function patternOf(character: string): string {
  const cases = new Set([character, character.toLowerCase(), character.toUpperCase()]);
  const escapes = Array.from(cases, (one) =>
    Array.from({ length: one.length }, (_, at) => unicodeEscape(one.charCodeAt(at))).join(''),
  );
  const itself = /^[\p{L}\p{N}]$/u.test(character) ? character : `\\x{${codePoint(character).toString(16)}}`;
  // A quotation mark and a backslash stand there with a backslash before them, a slash may.
  const plain = character === '"' || character === '\\' ? `\\\\${itself}` : itself;
  return `(?:${[plain, ...(character === '/' ? ['\\\\/'] : []), ...escapes].join('|')})`;
}

const codePoint = (character: string): number => character.codePointAt(0) ?? 0;

const unicodeEscape = (unit: number): string => `\\\\u${unit.toString(16).padStart(4, '0')}`;
