import { randomUUID } from 'node:crypto';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import { limits } from './limits.ts';
import type { CliDeps } from './context.ts';
import { createSender, type SentChunk } from './import-send.ts';
import {
  chunksOf,
  headOf,
  type ImportChunk,
  type ImportSource,
  openFileSource,
  openInputSource,
} from './import-source.ts';
import { type ImportPosition, openImportState } from './import-state.ts';
import { type TargetOptions, withTarget } from './import-target.ts';
import type { ImportTarget } from './import-send.ts';
import { printJson } from './output.ts';
import { createProgress } from './progress.ts';

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

interface Paths {
  readonly checkpoint: string | undefined;
  readonly rejected: string;
}

function pathsOf(source: ImportSource, { checkpoint, rejected }: ImportOptions): Paths {
  if (source.path === undefined)
    return { checkpoint: undefined, rejected: resolve(rejected ?? 'stdin.rejected.ndjson') };
  return {
    checkpoint: resolve(checkpoint ?? `${source.path}.import.json`),
    rejected: resolve(rejected ?? `${source.path}.rejected.ndjson`),
  };
}

/**
 * Sends the text in chunks, several at once, and takes their answers in the order of the text, so that the checkpoint
 * is a single place in it. A chunk that was stored but not checkpointed is sent again by the next run, under the same
 * key, and stored once.
 */
async function sendAll(
  deps: CliDeps,
  source: ImportSource,
  options: ImportOptions,
  target: ImportTarget,
): Promise<ImportResult> {
  const begun = performance.now();
  const paths = pathsOf(source, options);
  const isFile = source.path !== undefined;
  const state = await openImportState({
    checkpointPath: paths.checkpoint,
    rejectedPath: paths.rejected,
    restart: options.restart === true,
    headOf: isFile ? (bytesMax) => headOf(source, bytesMax) : undefined,
  });
  const first = state.position;
  if (first.offset > 0) deps.io.error(`Going on after line ${first.nextLine - 1}.\n`);
  const progress = createProgress(deps.io, {
    items: 'events',
    total: source.fileBytes,
    doneBefore: source.compression === 'none' ? first.offset : 0,
  });
  const ending = new AbortController();
  const send = createSender(target, isFile ? state.identity : randomUUID(), ending.signal);
  let position = first;

  const finish = async ({ chunk, sent }: { chunk: ImportChunk; sent: Promise<SentChunk> }): Promise<void> => {
    const { accepted, rejected } = await sent;
    position = {
      offset: chunk.end,
      nextLine: chunk.nextLine,
      accepted: position.accepted + accepted,
      rejected: position.rejected + rejected.length,
    };
    await state.advance(position, rejected);
    progress.at(source.fileBytesRead(), position.accepted - first.accepted);
  };
  try {
    const text = source.text(first.offset);
    const underway: { chunk: ImportChunk; sent: Promise<SentChunk> }[] = [];
    for await (const chunk of chunksOf(text, { offset: first.offset, firstLine: first.nextLine })) {
      const sent = send(chunk);
      // Heard of when its turn comes; a failure before that must not end the process.
      sent.catch(() => undefined);
      underway.push({ chunk, sent });
      if (underway.length >= limits.importRequestsAtOnceMax)
        await finish(underway.shift() as (typeof underway)[0]);
    }
    for (const one of underway) await finish(one);
  } finally {
    ending.abort();
    progress.end();
    await state.close();
  }
  return {
    ...position,
    acceptedNow: position.accepted - first.accepted,
    rejectedNow: position.rejected - first.rejected,
    seconds: (performance.now() - begun) / 1000,
  };
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
  deps.io.error(`${acceptedNow} events imported${before} in ${seconds.toFixed(1)} s, ${rate}/s\n`);
  if (file !== null) deps.io.error(`${rejected} lines were rejected, see ${basename(file)}\n`);
}

async function run(deps: CliDeps, file: string, options: ImportOptions): Promise<void> {
  const source = file === '-' ? openInputSource(deps.io.input) : await openFileSource(resolve(file));
  await withTarget(deps, options, async (target) => {
    report(deps, source, options, await sendAll(deps, source, options, target));
  });
}

/** `import` (contract: Command line): source events from NDJSON, each once however often it is interrupted. */
export function registerImport(program: Command, deps: CliDeps): void {
  program
    .command('import')
    .description('record source events from NDJSON, plain or compressed (gzip, zstd, br)')
    .argument('<file>', 'file, or - for standard input')
    .option('--org <slug>', 'organization of events that name none (without a key)')
    .option('--url <url>', 'server (default: the one on DATA_DIR, else HOST and PORT)')
    .option('--key-file <file>', 'file with the API key (default: AUDITLOG_API_KEY, else a key of its own)')
    .option('--checkpoint <file>', 'where to note how far it has come (default: <file>.import.json)')
    .option('--rejected <file>', 'where rejected lines go (default: <file>.rejected.ndjson)')
    .option('--restart', 'begin anew, whatever an earlier run has noted')
    .option('--json', 'print JSON about what was done')
    .action((file: string, options: ImportOptions) => run(deps, file, options));
}
