import { randomUUID } from 'node:crypto';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import type { CliDeps } from './context.ts';
import { chunksOf, type ImportChunk } from './import-chunks.ts';
import { ImportSender, type ImportTarget, type SentChunk } from './import-send.ts';
import { type ImportSource, openFileSource, openInputSource } from './import-source.ts';
import { type ImportPaths, type ImportPosition, ImportState } from './import-state.ts';
import { type TargetOptions, withTarget } from './import-target.ts';
import { limits } from './limits.ts';
import { option, serviceAddress } from './option.ts';
import { checkOutputFile } from './output-file.ts';
import { counted, printJson } from './output.ts';
import { createProgress, type Progress } from './progress.ts';

interface ImportOptions extends TargetOptions {
  readonly checkpoint?: string;
  readonly rejected?: string;
  readonly restart?: true;
  readonly json?: true;
}

interface ImportResult extends ImportPosition {
  /** Of these, what this run did. */
  readonly acceptedNow: number;
  readonly rejectedNow: number;
  readonly seconds: number;
}

function pathsOf(source: ImportSource, { checkpoint, rejected }: ImportOptions): ImportPaths {
  if (source.path === undefined)
    return { checkpoint: undefined, rejected: resolve(rejected ?? 'stdin.rejected.ndjson') };
  return {
    checkpoint: resolve(checkpoint ?? `${source.path}.import.json`),
    rejected: resolve(rejected ?? `${source.path}.rejected.ndjson`),
  };
}

interface Underway {
  readonly chunk: ImportChunk;
  readonly sent: Promise<SentChunk>;
}

/**
 * Sends the text in chunks, several at once, and takes their answers in the order of the text, so that the checkpoint
 * is a single offset in it. The next run sends a chunk again that was stored but not checkpointed. It has the
 * same idempotency key, so the service stores it once.
 */
async function sendAll(
  deps: CliDeps,
  source: ImportSource,
  options: ImportOptions,
  target: ImportTarget,
): Promise<ImportResult> {
  const begun = performance.now();
  const state = await ImportState.open(source, pathsOf(source, options), options.restart === true);
  const { first } = state;
  if (first.offset > 0) deps.io.error(`Going on after line ${first.nextLine - 1}.\n`);
  const progress = createProgress(deps.io, {
    items: 'events',
    total: source.fileBytes,
    doneBefore: source.compression === 'none' ? first.offset : 0,
  });
  const ending = new AbortController();
  const identity = source.path === undefined ? randomUUID() : state.identity;
  const sender = new ImportSender(target, identity, ending.signal);
  try {
    await sendChunks(source, state, sender, progress);
  } finally {
    ending.abort();
    progress.end();
    await state.close();
  }
  const { position } = state;
  return {
    ...position,
    acceptedNow: position.accepted - first.accepted,
    rejectedNow: position.rejected - first.rejected,
    seconds: (performance.now() - begun) / 1000,
  };
}

async function sendChunks(
  source: ImportSource,
  state: ImportState,
  sender: ImportSender,
  progress: Progress,
): Promise<void> {
  const { offset, nextLine, accepted: acceptedBefore } = state.first;
  const finish = async ({ chunk, sent }: Underway): Promise<void> => {
    const { accepted, rejected } = await sent;
    const position = {
      offset: chunk.end,
      nextLine: chunk.nextLine,
      accepted: state.position.accepted + accepted,
      rejected: state.position.rejected + rejected.length,
    };
    await state.advance(position, rejected);
    progress.at(source.fileBytesRead(), position.accepted - acceptedBefore);
  };
  const underway: Underway[] = [];
  for await (const chunk of chunksOf(source.text(offset), { offset, firstLine: nextLine })) {
    const sent = sender.send(chunk);
    // `finish` gets the failure in its turn; until then it must not end the process.
    sent.catch(() => undefined);
    underway.push({ chunk, sent });
    const oldest = underway.length >= limits.importRequestsAtOnceMax ? underway.shift() : undefined;
    if (oldest !== undefined) await finish(oldest);
  }
  for (const one of underway) await finish(one);
}

function report(deps: CliDeps, source: ImportSource, options: ImportOptions, result: ImportResult): void {
  const { accepted, rejected, acceptedNow, rejectedNow, nextLine, seconds } = result;
  const { rejected: rejectedFile } = pathsOf(source, options);
  const rate = Math.round(acceptedNow / Math.max(seconds, 0.001));
  const file = rejected > 0 ? rejectedFile : null;
  if (options.json === true) {
    printJson(deps, 'CliImport', {
      lines: nextLine - 1,
      accepted,
      rejected,
      accepted_now: acceptedNow,
      rejected_now: rejectedNow,
      seconds: Number(seconds.toFixed(3)),
      rejected_file: file,
    });
    return;
  }
  const before = accepted > acceptedNow ? ` (${accepted} with earlier runs)` : '';
  deps.io.error(`${counted(acceptedNow, 'event')} imported${before} in ${seconds.toFixed(1)} s, ${rate}/s\n`);
  const were = rejected === 1 ? 'was' : 'were';
  if (file !== null) deps.io.error(`${counted(rejected, 'line')} ${were} rejected, see ${basename(file)}\n`);
}

async function run(deps: CliDeps, file: string, options: ImportOptions): Promise<void> {
  const source = file === '-' ? openInputSource(deps.io.input) : await openFileSource(resolve(file));
  const { checkpoint, rejected } = pathsOf(source, options);
  if (checkpoint !== undefined) await checkOutputFile(checkpoint);
  if (options.rejected !== undefined) await checkOutputFile(rejected);
  await withTarget(deps, options, async (target) => {
    const result = await sendAll(deps, source, options, target);
    report(deps, source, options, result);
    if (result.accepted === 0 && result.rejected > 0)
      throw new Error('nothing was imported: every line was rejected');
  });
}

/** `import` (contract: Command line): source events from NDJSON, each once however often it is interrupted. */
export function registerImport(program: Command, deps: CliDeps): void {
  program
    .command('import')
    .description('record source events from NDJSON, plain or compressed (gzip, zstd, br)')
    .argument('<file>', 'file, or - for standard input')
    .option('--org <slug>', 'organization of events that name none (without a key)')
    .addOption(
      option('--url <url>', 'server (default: the one on DATA_DIR, else HOST and PORT)', serviceAddress),
    )
    .option('--key-file <file>', 'file with the API key (default: AUDITLOG_API_KEY, else a key of its own)')
    .option('--checkpoint <file>', 'where to note how far it has come (default: <file>.import.json)')
    .option('--rejected <file>', 'where rejected lines go (default: <file>.rejected.ndjson)')
    .option('--restart', 'begin anew, whatever an earlier run has noted')
    .option('--json', 'print JSON about what was done')
    .action((file: string, options: ImportOptions) => run(deps, file, options));
}
