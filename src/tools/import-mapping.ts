import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { messageOf } from '../base/errors/system-error.ts';
import { mappingOf } from '../adapters/built-in.ts';
import { checkedDefinition, type AdapterName } from '../adapters/definition.ts';
import { Mapping } from '../adapters/mapping.ts';
import { Preview, type PreviewOptions } from '../adapters/preview.ts';
import type { ToolDeps } from './context.ts';
import { chunksOf } from './import-chunks.ts';
import { openRecords } from './import-records.ts';
import { asMapped, mapLine } from './import-send.ts';
import type { ImportSource } from './import-source.ts';
import { limits } from './limits.ts';
import { unreadable, wrong } from './option.ts';

export interface MappingOptions {
  readonly from?: AdapterName;
  readonly map?: string;
}

export interface ImportMapping {
  /** Undefined: the records are source events. */
  readonly mapping: Mapping | undefined;
  /** Tells it from others, in words for the operator. */
  readonly name: string;
}

/** How the records of an import become source events. */
export async function importMapping({ from, map }: MappingOptions): Promise<ImportMapping> {
  if (from !== undefined && map !== undefined) throw wrong('--map', 'not with --from: one mapping at a time');
  if (from !== undefined) return { mapping: mappingOf(from), name: `--from ${from}` };
  if (map === undefined) return { mapping: undefined, name: 'none' };
  const text = await readFile(map, 'utf8').catch((error: unknown) => {
    throw unreadable('--map', map, error);
  });
  const definition = understood(map, () => checkedDefinition(parsed(text)));
  const digest = createHash('sha256').update(JSON.stringify(definition)).digest('hex').slice(0, 16);
  return { mapping: understood(map, () => new Mapping(definition)), name: `--map with the hash ${digest}` };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`is no JSON (${messageOf(error)})`, {
      cause: error,
    });
  }
}

/** Throws Problem `malformed`, with file and reason, for a mapping that is none. */
function understood<T>(map: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw wrong('--map', `${map}: ${messageOf(error)}`);
  }
}

const name = 'Audit Log Service';
/** A server without settings of its own. */
const usual: PreviewOptions = { appName: name, productName: name, vendorName: name, redactKeys: [] };

/**
 * Prints the first records as they would be read back, a line each, and why others would be refused. Where all
 * of these are, it reads on to the first that is not, and rejects, as the import would, when there is none.
 */
export async function dryRun(
  deps: ToolDeps,
  source: ImportSource,
  mapping: Mapping | undefined,
  options: PreviewOptions = usual,
): Promise<void> {
  const preview = new Preview(options);
  const { text, splitter } = await openRecords(source, 0, mapping);
  let seenLines = 0;
  let refused = 0;
  for await (const { lines, numbers, tooLong } of chunksOf(text, { offset: 0, firstLine: 1 }, splitter)) {
    for (const [index, line] of lines.entries()) {
      const isEnough = seenLines >= limits.importShownMax;
      if (isEnough && refused < seenLines) return;
      seenLines++;
      const seen = seenAs(preview, mapping, line);
      const faults = seen.flatMap((one) => ('refused' in one ? [one.refused] : []));
      for (const one of seen) if ('auditEvent' in one) deps.io.out(`${one.auditEvent}\n`);
      if (faults.length > 0) refused++;
      if (!isEnough)
        for (const fault of faults) deps.io.error(`line ${numbers[index]} would be rejected: ${fault}\n`);
    }
    refused += tooLong.length;
    seenLines += tooLong.length;
  }
  if (refused > 0 && refused === seenLines) throw new Error('every line would be rejected');
}

function seenAs(
  preview: Preview,
  mapping: Mapping | undefined,
  line: Buffer,
): readonly ReturnType<Preview['of']>[] {
  if (mapping === undefined) return [preview.of(line)];
  const events = mapLine(mapping, line);
  if (typeof events === 'string') return [{ refused: events }];
  return events.map((event) => {
    const seen = preview.of(event);
    return 'refused' in seen ? { refused: asMapped(seen.refused, mapping) } : seen;
  });
}
