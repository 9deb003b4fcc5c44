import { createHash } from 'node:crypto';
import { errorCode, messageOf } from '../base/errors/system-error.ts';
import type { MappingDefinition } from '../adapters/definition.ts';
import { readMapping, readMappings } from '../adapters/mapping-files.ts';
import { Mapping } from '../adapters/mapping.ts';
import { Mappings } from '../adapters/mappings.ts';
import { Preview, type Previewed, type PreviewOptions } from '../adapters/preview.ts';
import type { Environment, ToolDeps } from './context.ts';
import { splitChunks } from './import-chunks.ts';
import { openRecords } from './import-records.ts';
import { asMapped, mapLine } from './import-send.ts';
import type { ImportSource } from './import-source.ts';
import { unreadable, wrong } from './option.ts';

export interface MappingOptions {
  readonly from?: string;
  readonly map?: string;
}

export interface ImportMapping {
  /** Undefined: the records are source events. */
  readonly mapping: Mapping | undefined;
  readonly name: string;
}

export function importMapping({ from, map }: MappingOptions, environment: Environment): ImportMapping {
  if (from !== undefined && map !== undefined) throw wrong('--map', 'not with --from: one mapping at a time');
  if (map !== undefined)
    return ownMapping(
      '--map',
      understood('--map', map, () => readMapping(map)),
    );
  if (from === undefined) return { mapping: undefined, name: 'none' };
  const directory = environment['MAPPINGS_DIR'] ?? '';
  const own = directory === '' ? [] : understood('MAPPINGS_DIR', directory, () => readMappings(directory));
  const mappings = new Mappings(own);
  if (!mappings.names().includes(from)) throw wrong('--from', mappings.names().join(', '));
  const definition = own.find(({ name }) => name === from);
  return definition === undefined
    ? { mapping: mappings.of(from), name: `--from ${from}` }
    : ownMapping(`--from ${from}`, definition);
}

function ownMapping(option: string, definition: MappingDefinition): ImportMapping {
  const digest = createHash('sha256').update(JSON.stringify(definition)).digest('hex').slice(0, 16);
  return { mapping: new Mapping(definition), name: `${option} with the hash ${digest}` };
}

/** Throws Problem `malformed` with file and reason. */
function understood<T>(option: string, path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (errorCode(error) !== undefined) throw unreadable(option, path, error);
    throw wrong(option, `${path}: ${messageOf(error)}`);
  }
}

const name = 'Audit Log Service';
const usual: PreviewOptions = { appName: name, productName: name, vendorName: name, redactKeys: [] };

/** Prints the audit event of each record, or its refusal. Rejects if all are refused. */
export async function dryRun(
  deps: ToolDeps,
  source: ImportSource,
  mapping: Mapping | undefined,
  options: PreviewOptions = usual,
): Promise<void> {
  const preview = new Preview(options);
  const { text, splitter } = await openRecords(source, 0, mapping);
  let seen = 0;
  let refused = 0;
  for await (const { lines, numbers, tooLong } of splitChunks(text, { offset: 0, firstLine: 1 }, splitter)) {
    // The reader, such as `head`, closed the pipe.
    if (!deps.io.output.writable) return;
    for (const [index, line] of lines.entries()) {
      const all = seenAs(preview, mapping, line);
      const number = numbers[index] ?? 0;
      for (const one of all) {
        if ('refused' in one) deps.io.error(`line ${number} would be rejected: ${one.refused}\n`);
        else deps.io.out(`${shown(number, one)}\n`);
      }
      if (all.some((one) => 'refused' in one)) refused++;
    }
    refused += tooLong.length;
    seen += lines.length + tooLong.length;
  }
  if (refused > 0 && refused === seen) throw new Error('every line would be rejected');
}

/** The audit event is already text and keeps its digits. */
function shown(line: number, { auditEvent, target, activityClass }: Previewed): string {
  const facts = JSON.stringify({ line, class: activityClass, target });
  return `${facts.slice(0, -1)},"event":${auditEvent}}`;
}

function seenAs(
  preview: Preview,
  mapping: Mapping | undefined,
  line: Buffer,
): readonly ReturnType<Preview['of']>[] {
  if (mapping === undefined) return [preview.of(line)];
  const mapped = mapLine(mapping, line);
  if (typeof mapped === 'string') return [{ refused: mapped }];
  return mapped.events.map((event) => {
    const seen = preview.of(Buffer.from(event));
    return 'refused' in seen ? { refused: asMapped(seen.refused, mapping) } : seen;
  });
}
