/** What the copy of the control data knows of a table. */
interface ControlTableFacts {
  /** Columns that are NULL until something ends by them: an access, a key, what retention may remove. */
  readonly ends: readonly string[];
  /** Where the engine removes rows by itself: the time after which it may, as the engine writes it, UTC. */
  readonly until?: string;
}

/**
 * The tables of which there is a checked copy beside the embedded engine. All have `id` and `version`, of each id the row
 * with the highest version counts, and all are small. `ControlTable` takes these names alone, so no table of that kind
 * can be without a copy.
 */
const facts = {
  organizations: { ends: ['deleted_at'] },
  users: { ends: ['disabled_at', 'deleted_at'] },
  api_keys: { ends: ['revoked_at'] },
  retention_policies: { ends: ['held_at'] },
  sign_ons: { ends: [] },
  user_identities: { ends: [] },
  ended_sessions: { ends: [], until: 'expires_at' },
  deletions: { ends: [] },
  erasures: { ends: [] },
} as const satisfies Readonly<Record<string, ControlTableFacts>>;

export type ControlTableName = keyof typeof facts;
export const controlTableNames = Object.keys(facts) as readonly ControlTableName[];

export function isControlTable(name: string): name is ControlTableName {
  return Object.hasOwn(facts, name);
}

/** A row as JSON of the engine has it, without the moment at which it was written. */
export type ControlRow = Readonly<Record<string, unknown>> & { readonly id: string };

export const versionOf = (row: ControlRow): number => Number(row['version']);

const endsIn = (table: ControlTableName, row: ControlRow): number =>
  facts[table].ends.filter((column) => (row[column] ?? null) !== null).length;

/** Whether a row counts, and not the other one of its id: the newer does and, of two of one version, what ends more. */
export function replaces(table: ControlTableName, row: ControlRow, other: ControlRow | undefined): boolean {
  if (other === undefined) return true;
  const [version, before] = [versionOf(row), versionOf(other)];
  return version > before || (version === before && endsIn(table, row) > endsIn(table, other));
}

/** Whether the engine has to have a row still. `now`: such as 2026-11-23 10:00:00, UTC. */
export function isAlive(table: ControlTableName, row: ControlRow, now: string): boolean {
  const { until }: ControlTableFacts = facts[table];
  return until === undefined || String(row[until]) > now;
}
