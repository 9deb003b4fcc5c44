import { randomUUID } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { adapterNames } from '../adapters/definition.ts';
import type { Mapping } from '../adapters/mapping.ts';
import type { PreviewOptions } from '../adapters/preview.ts';
import type { RetryFacts } from '../client/client.ts';
import type { ToolDeps } from './context.ts';
import { splitChunks, type ImportChunk } from './import-chunks.ts';
import { dryRun, importMapping, type MappingOptions } from './import-mapping.ts';
import { ImportedIds } from './import-ids.ts';
import { openRecords } from './import-records.ts';
import { ImportSender, type ImportTarget, type SentChunk } from './import-send.ts';
import { type ImportSource, openFileSource, openInputSource } from './import-source.ts';
import { type GivenPaths, ImportState } from './import-state.ts';
import { givenTarget, type ImportWork, type TargetOptions } from './import-target.ts';
import { Interrupted, nothingKept, stopSignal } from './interrupted.ts';
import { limits } from './limits.ts';
import { addRows, option, serviceAddress } from './option.ts';
import { checkOutputFile } from './output-file.ts';
import { counted, printJson } from './output.ts';
import { createProgress } from './progress.ts';
import { RetryLog } from './retry-log.ts';
import { trustRows } from './trusted-fetch.ts';

const importRequestsAtOnceMax = 8;

interface ImportOptions extends TargetOptions, MappingOptions, GivenPaths {
  readonly ids?: string;
  readonly restart?: true;
  readonly strict?: true;
  readonly dryRun?: true;
  readonly json?: true;
}

export interface ImportEngine {
  /** Runs the work on a server that needs no name and no key. */
  readonly withTarget: (options: TargetOptions, work: ImportWork) => Promise<void>;
  readonly previewOptions: () => PreviewOptions;
}

interface Underway {
  readonly chunk: ImportChunk;
  readonly sent: Promise<SentChunk>;
}

/** Yields answers in text order. */
async function* sendInOrder(
  chunks: AsyncIterable<ImportChunk>,
  sender: ImportSender,
): AsyncGenerator<Underway> {
  const underway: Underway[] = [];
  for await (const chunk of chunks) {
    const sent = sender.send(chunk);
    // Awaited in its turn; until then a rejection must not end the process.
    sent.catch(() => undefined);
    underway.push({ chunk, sent });
    if (underway.length >= importRequestsAtOnceMax) yield* underway.splice(0, 1);
  }
  yield* underway;
}

/**
 * The checkpoint is one offset. A chunk that was stored but not checkpointed is sent again with the same key, and stored once.
 */
async function sendAll(
  deps: ToolDeps,
  source: ImportSource,
  target: ImportTarget,
  state: ImportState,
  mapping: Mapping | undefined,
  ids: ImportedIds | undefined,
): Promise<number> {
  const { offset, nextLine: firstLine, accepted: acceptedBefore } = state.first;
  if (offset > 0)
    deps.io.error(`Continuing after line ${firstLine - 1} of an earlier run; use --restart to start anew.\n`);
  if (state.note !== undefined) deps.io.error(`${state.note}\n`);
  const progress = createProgress(deps.io, {
    items: 'events',
    total: source.fileBytes,
    doneBefore: source.compression === 'none' ? offset : 0,
  });
  const ending = new AbortController();
  const identity = source.path === undefined ? randomUUID() : state.identity;
  const retryLog = new RetryLog((words) => deps.io.error(`${words}\n`), limits.importRetryMsMax);
  const onRetry = (facts: RetryFacts): void => retryLog.failed(target.url, facts);
  const sender = new ImportSender(target, identity, { signal: ending.signal, onRetry }, { mapping, ids });
  let repeated = 0;
  const { text, splitter } = await openRecords(source, offset, mapping);
  const chunks = splitChunks(text, { offset, firstLine }, splitter);
  const stop = source.path === undefined ? undefined : stopSignal(deps);
  stop?.addEventListener('abort', () => ending.abort(), { once: true });
  try {
    for await (const { chunk, sent } of sendInOrder(chunks, sender)) {
      const answered = await sent;
      repeated += answered.repeated;
      await ids?.add(answered.digests);
      await state.advance(chunk, answered);
      retryLog.succeeded(target.url);
      progress.at(source.fileBytesRead(), state.position.accepted - acceptedBefore);
    }
    state.whole();
  } catch (error) {
    throw stop?.aborted === true ? new Interrupted(keptText(state)) : error;
  } finally {
    ending.abort();
    progress.end();
    await state.close();
    await ids?.close();
  }
  return repeated;
}

function keptText({ position: { accepted, nextLine } }: ImportState): string {
  if (nextLine === 1) return nothingKept;
  const events = `${counted(accepted, 'event')} of ${counted(nextLine - 1, 'line')}`;
  return `${events} are imported; the same command continues after them`;
}

function report(
  deps: ToolDeps,
  json: boolean,
  { first, position, rejectedPath: file }: ImportState,
  { repeated, seconds }: { readonly repeated: number; readonly seconds: number },
) {
  const { accepted, rejected, nextLine } = position;
  const acceptedNow = accepted - first.accepted;
  if (json) {
    printJson(deps, 'CliImport', {
      lines: nextLine - 1,
      accepted,
      rejected,
      accepted_now: acceptedNow,
      rejected_now: rejected - first.rejected,
      repeated_now: repeated,
      seconds: Number(seconds.toFixed(3)),
      rejected_file: rejected > 0 ? file : null,
    });
    return;
  }
  const rate = Math.round(acceptedNow / Math.max(seconds, 0.001));
  const before = accepted > acceptedNow ? ` (${accepted} with earlier runs)` : '';
  deps.io.error(`${counted(acceptedNow, 'event')} imported${before} in ${seconds.toFixed(1)} s, ${rate}/s\n`);
  if (repeated > 0)
    deps.io.error(`${counted(repeated, 'record')} skipped: already imported with the same id\n`);
  const were = rejected === 1 ? 'was' : 'were';
  if (rejected > 0) deps.io.error(`${counted(rejected, 'line')} ${were} rejected, see ${file}\n`);
}

async function openIds(
  { path }: ImportSource,
  { ids, checkpoint, restart }: ImportOptions,
  mapping: Mapping | undefined,
  target: ImportTarget,
): Promise<ImportedIds | undefined> {
  const beside = checkpoint ?? path;
  const file = ids ?? (beside === undefined ? undefined : join(dirname(beside), 'auditlog.ids'));
  if (mapping?.definition.id === undefined || file === undefined) return undefined;
  return ImportedIds.open(resolve(file), `${target.name}\0${mapping.name}`, restart === true);
}

async function run(
  deps: ToolDeps,
  file: string,
  options: ImportOptions,
  engine: ImportEngine | undefined,
): Promise<void> {
  const source = file === '-' ? openInputSource(deps.io.input) : await openFileSource(resolve(file));
  const { mapping, name } = importMapping(options, deps.environment);
  if (options.dryRun === true) return dryRun(deps, source, mapping, engine?.previewOptions());
  const { path } = source;
  const given: GivenPaths = options;
  if (path !== undefined) await checkOutputFile(resolve(given.checkpoint ?? `${path}.import.json`));
  if (given.rejected !== undefined) await checkOutputFile(resolve(given.rejected));
  const work: ImportWork = async (target) => {
    const begun = performance.now();
    const subject = { target: target.name, mapping: name };
    const state = await ImportState.open({ source, given, subject, restart: options.restart === true });
    const ids = await openIds(source, options, mapping, target);
    const repeated = await sendAll(deps, source, target, state, mapping, ids);
    const seconds = (performance.now() - begun) / 1000;
    report(deps, options.json === true, state, { repeated, seconds });
    const { accepted, rejected } = state.position;
    if (options.strict === true && rejected > 0)
      throw new Error(`${counted(rejected, 'line')} rejected, and --strict allows none`);
    if (accepted === 0 && rejected > 0) throw new Error('nothing was imported: every line was rejected');
  };
  if (engine !== undefined) await engine.withTarget(options, work);
  else await work(await givenTarget(deps, options.url ?? '', options));
}

export function registerImport(program: Command, deps: ToolDeps, engine?: ImportEngine): void {
  const url = 'server (default: the one of DATA_DIR, otherwise HOST and PORT)';
  const command = program
    .command('import')
    .description('record source events from NDJSON, plain or compressed (gzip, zstd, br)')
    .argument('<file>', 'file, or - for standard input')
    .addOption(
      option(
        '--from <name>',
        `records of another program: ${adapterNames.join(', ')}, or a mapping in MAPPINGS_DIR`,
      ),
    )
    .option('--map <file>', 'custom mapping for records of another program')
    .option('--dry-run', 'store nothing: print event, target and class of each record, a line of JSON each')
    .addOption(
      engine === undefined
        ? option('--url <url>', 'server', serviceAddress).makeOptionMandatory()
        : option('--url <url>', url, serviceAddress),
    )
    .option(
      '--key-file <file>',
      `file with the API key (default: AUDITLOG_API_KEY${engine === undefined ? '' : ', otherwise a new key'})`,
    )
    .option('--checkpoint <file>', 'file for the position (default: <file>.import.json)')
    .option(
      '--ids <file>',
      'file for ids of imported records, so that each is stored once (default: auditlog.ids beside the file)',
    )
    .option('--rejected <file>', 'file for rejected lines (default: <file>.rejected.ndjson)')
    .option('--restart', 'start anew, ignoring earlier runs')
    .option('--strict', 'exit code 1 if a line was rejected')
    .option('--json', 'print a summary as JSON')
    .action((file: string, options: ImportOptions) => run(deps, file, options, engine));
  addRows(command, trustRows);
  if (engine !== undefined)
    command.option('--org <slug>', 'organization of events without one (without a key)');
}
