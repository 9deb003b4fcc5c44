import { damagedParts, detachPart } from './parts.ts';
import type { Storage } from './storage.ts';

/** With the effect of detaching a part. The service cannot start while some of these tables are unreadable. */
const becomes: Readonly<Record<string, string>> = {
  schema_migrations: 'the next start records them again',
  leases: 'processes take their leases again',
  watermarks: 'processes write theirs again',
  logs: 'processes record their logs again',
  api_key_uses: 'last uses of API keys are lost',
};

export const fateOfRows = (table: string): string | undefined => becomes[table];

/** Resolves with the names of detached parts, by table. */
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
