import { damagedParts, detachPart } from './parts.ts';
import type { Storage } from './storage.ts';

/**
 * Tables whose rows processes make anew, or can do without, and what becomes of the rows of a part that is taken out. The
 * service cannot start while some of them cannot be read.
 */
const becomes: Readonly<Record<string, string>> = {
  schema_migrations: 'the next start notes them again',
  leases: 'processes take their claims again',
  watermarks: 'processes write theirs again',
  logs: 'processes note their logs again',
  api_key_uses: 'times at which API keys were used are forgotten',
};

/** What becomes of rows that are taken out of a table; undefined where nothing may be taken out. */
export const fateOfRows = (table: string): string | undefined => becomes[table];

/** Takes out of these tables the parts that cannot be read. Resolves with their names, by table. */
export async function takeOutRemade(storage: Storage): Promise<Map<string, string[]>> {
  const takenOut = new Map<string, string[]>();
  for (const table of Object.keys(becomes)) {
    const parts = await damagedParts(storage, table);
    for (const part of parts) await detachPart(storage, part);
    if (parts.length > 0)
      takenOut.set(
        table,
        parts.map(({ name }) => name),
      );
  }
  return takenOut;
}
