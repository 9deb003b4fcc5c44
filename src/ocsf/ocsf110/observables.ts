import type { Fault } from './fault.ts';

/** Each observable names an attribute by path (`actor.user.name`, through lists); for a scalar it also has the value. */
export function checkObservables(event: Readonly<Record<string, unknown>>): Fault[] {
  const { observables } = event;
  if (!Array.isArray(observables)) return [];
  return observables.flatMap((one: unknown, index): Fault[] => {
    if (typeof one !== 'object' || one === null) return [];
    const { name, value } = one as { name?: unknown; value?: unknown };
    if (typeof name !== 'string') return [];
    const pointer = `/observables/${index}`;
    const values = valuesAt([event], name.split('.'));
    if (values.length === 0) return [{ pointer: `${pointer}/name`, rule: 'names no attribute of the event' }];
    const scalars = values.filter((each) => typeof each !== 'object');
    const isHere = scalars.length === 0 || scalars.some((each) => String(each) === value);
    return isHere
      ? []
      : [{ pointer: `${pointer}/value`, rule: 'must be the value of the attribute it names' }];
  });
}

function valuesAt(from: readonly unknown[], path: readonly string[]): unknown[] {
  let values = from.flat();
  for (const name of path) {
    values = values.flatMap((one) => {
      const isHolder = typeof one === 'object' && one !== null && Object.hasOwn(one, name);
      return isHolder ? [(one as Record<string, unknown>)[name]].flat() : [];
    });
  }
  return values;
}
