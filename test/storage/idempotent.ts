const createForms = [
  /^CREATE (TABLE|VIEW|MATERIALIZED VIEW|DICTIONARY|DATABASE|FUNCTION) IF NOT EXISTS /,
  // A table is never replaced: that would drop its rows when two processes start at once.
  /^CREATE OR REPLACE (VIEW|DICTIONARY|FUNCTION) /,
  /^DROP (TABLE|VIEW|DICTIONARY|FUNCTION) IF EXISTS /,
];
const alterAction =
  /\b(ADD|DROP|CLEAR|RENAME|MODIFY|COMMENT) (COLUMN|INDEX|PROJECTION|CONSTRAINT)( IF (NOT )?EXISTS)?/g;
const alterForms =
  /\b(ADD|DROP|CLEAR|RENAME|MODIFY|COMMENT|MATERIALIZE|RESET) (COLUMN|INDEX|PROJECTION|CONSTRAINT|SETTING|TTL|COMMENT|QUERY)\b/;

/** True when running the statement again, or beside another process that runs it, changes nothing more. */
export function isIdempotent(statement: string): boolean {
  const text = statement.replaceAll(/\s+/g, ' ');
  if (createForms.some((form) => form.test(text))) return true;
  if (!text.startsWith('ALTER TABLE ') || !alterForms.test(text)) return false;
  for (const action of text.matchAll(alterAction)) {
    if (action[3] === undefined) return false;
  }
  return true;
}
