/**
 * Members of a JSON object as ingest takes them (src/ocsf): of those that stand twice the last one counts, while the
 * engine's own functions take the first. All of these are SQL, and their values the text of the JSON value, or empty.
 */

/**
 * RE2: a whole string is kept, of a run of twenty or more digits outside of strings the last one. The engine finds nothing in a
 * text with an integer beyond 64 bits, and writes a number such as 9.5e20 as one.
 */
const cut = (text: string): string =>
  `replaceRegexpAll(${text}, '("(?:[^"\\\\\\\\]|\\\\\\\\.)*")|[0-9]{19,}([0-9])', '\\\\1\\\\2')`;

/**
 * The last member of that name in an object. Without a lambda, and of a text of its own: the engine computes a lambda, and what
 * stands in two branches, for every row, also where the branch of an `if` is not taken.
 */
export function lastMember(object: string, name: string): string {
  const members = `arrayReverse(JSONExtractKeysAndValuesRaw(${cut(object)}))`;
  return `arrayElement(tupleElement(${members}, 2), indexOf(tupleElement(${members}, 1), '${name}'))`;
}

/** The last member of that name in the source event. */
export function sourceMember(name: string): string {
  return lastMember("concat(source, '')", name);
}

/** The text where a value is a string, else nothing. */
export function textIn(value: string): string {
  return `if(startsWith(${value}, '"'), JSONExtractString(${value}), '')`;
}
