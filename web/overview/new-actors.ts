import type { TopValues } from '../api/types.ts';
import { limits } from './limits.ts';

export type Actor = Pick<TopValues['data']['actors'][number], 'email_addr' | 'name' | 'count'>;

export interface NewActors {
  readonly actors: readonly Actor[];
  /** Number of candidates looked up, if there are too many to check all. */
  readonly checked: number | undefined;
}

/** Actors of today without earlier events. A full list may lack some, so those are looked up by name. */
export async function findNew(
  today: readonly Actor[],
  before: readonly Actor[],
  wasThere: (actor: Actor) => Promise<boolean>,
): Promise<NewActors> {
  const known = new Set(before.map(({ email_addr: email }) => email));
  const unknown = today.filter(({ email_addr: email }) => !known.has(email));
  const isWhole = today.length < limits.topValues;
  if (before.length < limits.topValues)
    return { actors: unknown, checked: isWhole ? undefined : unknown.length };
  const asked = unknown.slice(0, limits.newActorChecks);
  const found = await Promise.all(asked.map(wasThere));
  return {
    actors: asked.filter((_, index) => found[index] !== true),
    checked: isWhole && asked.length === unknown.length ? undefined : asked.length,
  };
}
