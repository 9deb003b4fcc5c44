/**
 * Members of a JSON object as ingest takes them (src/ocsf): of those that stand twice the last one counts, while the
 * engine's own functions take the first. All of these are SQL, and their values the text of the JSON value, or empty.
 */

/**
 * RE2: a whole string is kept, of a run of eleven or more digits outside of strings the last one. The engine finds nothing in
 * an event with an integer beyond 64 bits.
 */
export const parsable =
  "replaceRegexpAll(source, '(\"(?:[^\"\\\\\\\\]|\\\\\\\\.)*\")|[0-9]{10,}([0-9])', '\\\\1\\\\2')";

/**
 * The last member of that name in an object. Without a lambda: the engine computes one for every row, also in the branch of an
 * `if` that is not taken.
 */
export function lastMember(object: string, name: string): string {
  const members = `arrayReverse(JSONExtractKeysAndValuesRaw(${object}))`;
  return `arrayElement(tupleElement(${members}, 2), indexOf(tupleElement(${members}, 1), '${name}'))`;
}

/**
 * The last member of that name in the source event. A text of its own, as the engine computes for every row whatever stands in
 * more than one branch.
 */
export function sourceMember(name: string): string {
  return lastMember(parsable.replace('source', "concat(source, '')"), name);
}

/** The text where a value is a string, else nothing. */
export function textIn(value: string): string {
  return `if(startsWith(${value}, '"'), JSONExtractString(${value}), '')`;
}

/** The text where a value is a string; where it is an object, that of its last member of that name. */
export function lastText(value: string, name: string): string {
  return `if(startsWith(${value}, '{'), ${textIn(lastMember(value, name))}, ${textIn(value)})`;
}
