import { readFile } from 'node:fs/promises';
import { mappingOf } from '../foreign/built-in.ts';
import { checkedDefinition, type ForeignName } from '../foreign/definition.ts';
import { Mapping } from '../foreign/mapping.ts';
import { Preview } from '../foreign/preview.ts';
import type { CliDeps } from './context.ts';
import { chunksOf } from './import-chunks.ts';
import { openRecords } from './import-records.ts';
import { mapLine } from './import-send.ts';
import type { ImportSource } from './import-source.ts';
import { limits } from './limits.ts';
import { wrong } from './option.ts';
import { setUp } from './session.ts';

export interface MappingOptions {
  readonly from?: ForeignName;
  readonly map?: string;
}

/** How the records of an import become source events; undefined where they are some. */
export async function importMapping({ from, map }: MappingOptions): Promise<Mapping | undefined> {
  if (from !== undefined && map !== undefined) throw wrong('--map', 'not with --from: one mapping at a time');
  if (from !== undefined) return mappingOf(from);
  if (map === undefined) return undefined;
  try {
    return new Mapping(checkedDefinition(JSON.parse(await readFile(map, 'utf8'))));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot use the mapping ${map}: ${why}`, { cause: error });
  }
}

/** Prints the first records as they would be read back, a line each, and why others would be refused. */
export async function dryRun(
  deps: CliDeps,
  source: ImportSource,
  mapping: Mapping | undefined,
): Promise<void> {
  const preview = new Preview(setUp(deps).config);
  const { text, splitter } = await openRecords(source, 0, mapping);
  let shown = 0;
  for await (const { lines, numbers } of chunksOf(text, { offset: 0, firstLine: 1 }, splitter)) {
    for (const [index, line] of lines.entries()) {
      if (shown++ >= limits.importShownMax) return;
      const event = mapping === undefined ? line : mapLine(mapping, line);
      const seen = typeof event === 'string' ? { refused: event } : preview.of(event);
      if ('auditEvent' in seen) deps.io.out(`${seen.auditEvent}\n`);
      else deps.io.error(`line ${numbers[index]} would be rejected: ${seen.refused}\n`);
    }
  }
}
