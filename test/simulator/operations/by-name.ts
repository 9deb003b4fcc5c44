import type { Operation } from '../world.ts';

/** Operations that others use. */
const known = new Map<string, Operation>();

export function register(operations: readonly Operation[]): void {
  for (const one of operations) known.set(one.name, one);
}

export function operationByName(name: string): Operation {
  const found = known.get(name);
  if (found === undefined) throw new Error(`no operation "${name}"`);
  return found;
}
