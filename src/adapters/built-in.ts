import { builtInDefinition, type MappingName } from './definition.ts';
import { Mapping } from './mapping.ts';

const mappings = new Map<MappingName, Mapping>();

/** The mapping that comes with the service, compiled when it is first asked for. */
export function mappingOf(name: MappingName): Mapping {
  const known = mappings.get(name) ?? new Mapping(builtInDefinition(name));
  mappings.set(name, known);
  return known;
}
