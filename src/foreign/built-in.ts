import { builtInDefinition, type ForeignName } from './definition.ts';
import { Mapping } from './mapping.ts';

const mappings = new Map<ForeignName, Mapping>();

/** The mapping that comes with the service, compiled when it is first asked for. */
export function mappingOf(name: ForeignName): Mapping {
  const known = mappings.get(name) ?? new Mapping(builtInDefinition(name));
  mappings.set(name, known);
  return known;
}
