import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { Problem } from '../base/errors/problem.ts';
import {
  findWriter,
  listWriters,
  requireFenceable,
  fenceWriter,
  type Writer,
} from '../storage/fenced-writers.ts';
import type { CliDeps } from './context.ts';
import { print, table, timeText } from './output.ts';
import { commandWith } from './repeat.ts';
import type { JsonOption } from '../tools/output.ts';
import { operator, setUp, withStorage } from './session.ts';

interface FenceOptions extends JsonOption {
  readonly confirm?: string;
}

const warning = (number: number): string =>
  `Fencing writer ${number} lets the feed go on without the events that its log still has. They are not lost while its
data directory is there: when its server is started again, it stores them as if they came then, at new places in the
order of ingest. Until then nobody can read them. Where the directory is gone for good, so are they.
`;

const timeOrNull = (ms: number | undefined): string | null => (ms === undefined ? null : timeText(ms * 1000));

function view(writer: Writer) {
  const { number, instance, state, heldMs } = writer;
  return {
    number,
    instance,
    host: writer.host ?? null,
    pid: writer.pid ?? null,
    state,
    last_seen: timeText(writer.seenMs * 1000),
    watermark: timeOrNull(writer.watermarkMs),
    holds_feed_back: heldMs > 0,
    held_back_since: timeOrNull(heldMs > 0 ? writer.watermarkMs : undefined),
    fenced_at: timeOrNull(writer.fencedMs),
    fenced_by: writer.operator ?? null,
  };
}

function requireSharedEngine(url: string | undefined): void {
  if (url === undefined)
    throw new Problem(
      'malformed',
      'writers are servers that share a ClickHouse server: CLICKHOUSE_URL is not set',
    );
}

async function list(deps: CliDeps, options: JsonOption): Promise<void> {
  const setup = setUp(deps);
  requireSharedEngine(setup.config.clickhouse.url);
  await withStorage(setup, async ({ storage }) => {
    const value = (await listWriters(storage)).map(view);
    const text = table(value, [
      ['number', (one) => String(one.number)],
      ['state', (one) => one.state],
      ['host', (one) => one.host ?? ''],
      ['pid', (one) => String(one.pid ?? '')],
      ['last seen', (one) => one.last_seen],
      ['watermark', (one) => one.watermark ?? ''],
      ['feed', (one) => (one.holds_feed_back ? 'HELD BACK' : '')],
      ['instance', (one) => one.instance],
    ]);
    print(deps, options, 'CliWriters', value, text);
  });
}

/** Asks for the number once more: at a terminal, or as `--confirm`. Throws Problem `malformed`. */
async function confirm(
  { io, args = [] }: CliDeps,
  { number }: Writer,
  { confirm: given }: FenceOptions,
): Promise<void> {
  const { input } = io;
  if (given === undefined && !('isTTY' in input && input.isTTY))
    throw new Problem(
      'malformed',
      `confirm that the feed goes on without the log of writer ${number}: ${commandWith(args, '--confirm', String(number))}`,
    );
  if (given === undefined) io.error(warning(number));
  const answer = given ?? (await ask(io, `Type ${number} to fence it: `));
  if (answer.trim() !== String(number))
    throw new Problem('malformed', `not confirmed: writer ${number} is not fenced`);
}

async function ask({ input, output }: CliDeps['io'], question: string): Promise<string> {
  const terminal = createInterface({ input, output });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

async function fence(deps: CliDeps, name: string, options: FenceOptions): Promise<void> {
  const setup = setUp(deps);
  requireSharedEngine(setup.config.clickhouse.url);
  await withStorage(setup, async ({ storage }) => {
    const writer = findWriter(await listWriters(storage), name);
    requireFenceable(writer);
    await confirm(deps, writer, options);
    await fenceWriter(storage, writer, operator());
    const fenced = findWriter(await listWriters(storage), writer.instance);
    const text = `Writer ${writer.number} is fenced: the feed does not wait for it any more`;
    print(deps, options, 'CliWriter', view(fenced), text);
  });
}

/** `writers list|fence` (contract: Command line): the servers that share an engine, and one that will not come back. */
export function registerWriters(program: Command, deps: CliDeps): void {
  const writers = program.command('writers').description('servers that share a ClickHouse server');
  writers
    .command('list')
    .description('show each, its watermark, and which one the feed waits for')
    .option('--json', 'print JSON')
    .action((options: JsonOption) => list(deps, options));
  writers
    .command('fence')
    .argument('<writer>', 'its number, or its instance')
    .description('let the feed go on without one that will not come back')
    .option('--confirm <number>', 'its number once more, where standard input is no terminal')
    .option('--json', 'print JSON')
    .addHelpText('after', `\n${warning(0).replace('writer 0', 'a writer')}`)
    .action((name: string, options: FenceOptions) => fence(deps, name, options));
}
