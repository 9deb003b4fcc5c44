import type { MappingDefinition } from '../adapters/definition.ts';
import { limits } from '../adapters/limits.ts';
import { readMappings } from '../adapters/mapping-files.ts';
import { messageOf } from '../base/errors/system-error.ts';
import type { Kind } from './kinds.ts';

export const mappingsDirectory: Kind<readonly MappingDefinition[]> = {
  allowed: `a directory with at most ${limits.ownMappingsMax} mappings, NAME.json each`,
  wrongIn(directory) {
    const read = mappingsIn(directory);
    return typeof read === 'string' ? read : undefined;
  },
  parse(directory) {
    const read = mappingsIn(directory);
    return typeof read === 'string' ? undefined : { value: read };
  },
};

/** A string names the file and the broken rule. */
function mappingsIn(directory: string): readonly MappingDefinition[] | string {
  try {
    return readMappings(directory);
  } catch (error) {
    return messageOf(error);
  }
}
