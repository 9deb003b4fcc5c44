import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, parse } from 'node:path';
import { fileErrorWords, messageOf } from '../base/errors/system-error.ts';
import { checkedDefinition, isBuiltIn, type MappingDefinition } from './definition.ts';
import { limits } from './limits.ts';
import { Mapping } from './mapping.ts';

const mappingBytesMax = 64 * 1024;

/** The files `NAME.json` of a directory. Throws an Error with the file and the broken rule. */
export function readMappings(directory: string): readonly MappingDefinition[] {
  const files = namesIn(directory)
    .filter((file) => file.endsWith('.json'))
    .toSorted();
  if (files.length > limits.ownMappingsMax)
    throw new Error(`${files.length} mappings; at most ${limits.ownMappingsMax} are allowed`);
  return files.map((file) => {
    try {
      return namedAs(parse(file).name, readMapping(join(directory, file)));
    } catch (error) {
      throw new Error(`${file}: ${messageOf(error)}`, { cause: error });
    }
  });
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    throw new Error(fileErrorWords(error) ?? messageOf(error), { cause: error });
  }
}

export function readMapping(path: string): MappingDefinition {
  const facts = statSync(path);
  if (!facts.isFile()) throw new Error('is not a file');
  if (facts.size > mappingBytesMax)
    throw new Error(`has ${facts.size} bytes; at most ${mappingBytesMax} are allowed`);
  const definition = checkedDefinition(parsed(readFileSync(path, 'utf8')));
  // Compiles now, so that an invalid expression fails at the start.
  return new Mapping(definition).definition;
}

function namedAs(name: string, definition: MappingDefinition): MappingDefinition {
  if (definition.name !== name) throw new Error(`/name: must be the name of the file, ${name}`);
  if (isBuiltIn(name)) throw new Error('/name: is that of a built-in mapping');
  return definition;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`is not JSON (${messageOf(error).replaceAll(/\s+/g, ' ')})`, { cause: error });
  }
}
