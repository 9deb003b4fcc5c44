import type { Storage } from '../storage/storage.ts';

/** Where an event stands: Unix microseconds and `seq`, both as the engine's decimal text. */
export interface Moment {
  readonly micros: string;
  readonly seq: string;
}

/** A key for maps of moments. */
export function momentKey({ micros, seq }: Moment): string {
  return `${micros} ${seq}`;
}

/**
 * The engine's default JSON parser gives up on an event in which any integer exceeds 64 bits, and producers may send
 * such numbers; this one reads on.
 */
export const anyNumber = { allow_simdjson: 0 };

/**
 * What `columns` (SQL, `… AS name, …`) are for the events of one organization that stand at `moments`, by
 * `momentKey`. The moments are the primary key, so only these rows' payloads are read. At most a few thousand
 * moments, since they travel as one parameter. Rejects with EngineError.
 */
export async function readAtMoments<T extends object>(
  storage: Storage,
  organization: string,
  moments: readonly Moment[],
  columns: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, T>> {
  if (moments.length === 0) return new Map();
  const at = `[${moments.map(({ micros, seq }) => `(${micros},${seq})`).join(',')}]`;
  const rows = await storage.rows<T & Moment>(
    `SELECT toUnixTimestamp64Micro(time) AS micros, seq, ${columns} FROM events
     WHERE org = {org:UUID} AND (time, seq) IN (
       SELECT fromUnixTimestamp64Micro(at.1, 'UTC'), at.2
       FROM (SELECT arrayJoin({at:Array(Tuple(Int64, UInt64))}) AS at)
     )`,
    { org: organization, at },
    { settings: anyNumber, signal },
  );
  return new Map(rows.map((row) => [momentKey(row), row]));
}
