/**
 * Members of a JSON object as ingest reads them (src/ocsf): the last of duplicates counts, while the engine's
 * functions take the first. Each function returns SQL for the text of a JSON value, or an empty text.
 */

/**
 * RE2: keeps strings, and shortens a run of twenty or more digits to its last. The engine finds nothing in a
 * text with an integer beyond 64 bits, and writes 9.5e20 as one.
 */
const cut = (text: string): string =>
  `replaceRegexpAll(${text}, '("(?:[^"\\\\\\\\]|\\\\\\\\.)*")|[0-9]{19,}([0-9])', '\\\\1\\\\2')`;

/**
 * Without a lambda, and on a text of its own: the engine evaluates lambdas, and expressions shared by two
 * branches, for every row, even if an `if` does not need them.
 */
export function lastMember(object: string, name: string): string {
  const members = `arrayReverse(JSONExtractKeysAndValuesRaw(${cut(object)}))`;
  return `arrayElement(tupleElement(${members}, 2), indexOf(tupleElement(${members}, 1), '${name}'))`;
}

export const sourceMember = (name: string): string => lastMember("concat(source, '')", name);

/** The content if the value is a string, else empty. */
export function textIn(value: string): string {
  return `if(startsWith(${value}, '"'), JSONExtractString(${value}), '')`;
}
