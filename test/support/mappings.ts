import type { Mapping } from '../../src/adapters/mapping.ts';
import { Mappings } from '../../src/adapters/mappings.ts';
import { toWindow } from '../../src/ocsf/byte-text.ts';

const builtIn = new Mappings();

export const mappingOf = (name: string): Mapping => builtIn.of(name);

/** The source events of a record, or its refusal. */
export function mappedBy(mapping: Mapping, record: unknown): readonly string[] | string {
  const window = toWindow(typeof record === 'string' ? record : JSON.stringify(record));
  const mapped = mapping.map(window, 0, window.bytes.length);
  return typeof mapped === 'string' ? mapped : mapped.events;
}
