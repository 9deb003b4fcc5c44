import type { Storage } from '../storage/storage.ts';

/** Position of an event: Unix microseconds and `seq`, as decimal text. */
export interface Moment {
  readonly micros: string;
  readonly seq: string;
}

export const momentKey = ({ micros, seq }: Moment): string => `${micros} ${seq}`;

/** The engine's default JSON parser rejects an event with an integer beyond 64 bits; this one continues. */
export const anyNumber = { allow_simdjson: 0 };

/**
 * `columns`: SQL, `… AS name, …`. Moments are the primary key, so only these payloads are read; at most a few thousand, as they
 * are one parameter. Rejects with EngineError.
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
