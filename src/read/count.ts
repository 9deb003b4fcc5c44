import type { Settings, Storage } from '../storage/storage.ts';
import type { Where } from './filter.ts';

/** The query that counts what matches, also as a scalar of another one. */
export const countOf = ({ sql }: Where): string => `SELECT count() AS total FROM events WHERE ${sql}`;

/** Rejects with EngineError. */
export async function countEvents(
  storage: Storage,
  where: Where,
  settings: Settings,
  signal: AbortSignal,
): Promise<number> {
  const [row] = await storage.rows<{ total: string }>(countOf(where), where.parameters, { signal, settings });
  return Number(row?.total ?? 0);
}
