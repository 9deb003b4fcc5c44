/**
 * Members of a JSON object as ingest reads them (src/ocsf): the last of duplicates counts, while the engine's functions take the
 * first. Returns SQL for the text of a JSON value, or an empty text.
 */

/**
 * RE2: shortens a run of twenty or more digits outside strings to its last. The engine finds nothing in a text with an integer
 * beyond 64 bits.
 */
const cut = (text: string): string =>
  `replaceRegexpAll(${text}, '("(?:[^"\\\\\\\\]|\\\\\\\\.)*")|[0-9]{19,}([0-9])', '\\\\1\\\\2')`;

/**
 * Without a lambda, and on a text of its own: the engine evaluates lambdas and shared expressions for every row, even if an `if`
 * does not need them.
 */
export function lastMember(object: string, name: string): string {
  const members = `arrayReverse(JSONExtractKeysAndValuesRaw(${cut(object)}))`;
  return `arrayElement(tupleElement(${members}, 2), indexOf(tupleElement(${members}, 1), '${name}'))`;
}

export const sourceMessage = lastMember("concat(source, '')", 'message');

/** The content if the value is a string, else empty. */
export function textIn(value: string): string {
  return `if(startsWith(${value}, '"'), JSONExtractString(${value}), '')`;
}
