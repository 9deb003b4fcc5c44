import type { TopValues } from '../api/types.ts';
import { limits } from './limits.ts';

export type Actor = Pick<TopValues['data']['actors'][number], 'email_addr' | 'name' | 'count'>;

export interface NewActors {
  readonly actors: readonly Actor[];
  /** How many that may be new were looked up, where there are too many to be sure of all. */
  readonly checked: number | undefined;
}

/** Who is there today and was not before. Lists that are full may lack somebody, so then it is asked for by name. */
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
