import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { answers, readServerFile, type ServerAddress } from '../base/server-file.ts';
import { stringify } from '../contract/stringify.ts';
import type { Storage } from '../storage/storage.ts';
import type { CliDeps } from './context.ts';
import { limits } from './limits.ts';
import { type Setup, setUp, withStorage } from './session.ts';
import { askEngine } from './top/engine.ts';
import { type Figures, figuresOf, type Sample } from './top/figures.ts';
import { frameOf } from './top/frame.ts';
import { Metrics } from './top/metrics-text.ts';
import { isTerminal, Screen, spaceOf } from './top/screen.ts';
import { trustedFetch } from './trusted-fetch.ts';

interface TopOptions {
  readonly once?: true;
  readonly json?: true;
}

/** Where the figures come from. */
interface Source {
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly storage: Storage;
}

/** Takes the figures of one interval, or says in words why there are none. */
type Show = (figures: Figures | undefined, trouble?: string) => void;

async function top(deps: CliDeps, options: TopOptions): Promise<void> {
  const setup = setUp(deps);
  const server = await runningServer(setup);
  const source = { url: server.url, fetch: await trustedFetch({}, server.certificate) };
  await withStorage(setup, async ({ storage }) => watch(deps, { ...source, storage }, options));
}

async function runningServer({ config }: Setup): Promise<ServerAddress> {
  const server = await readServerFile(config.dataDir, async ({ url, certificate }) =>
    answers(url, limits.cliServerAskMsMax, await trustedFetch({}, certificate)),
  );
  if (server !== undefined) return server;
  throw new Error(`no server runs on DATA_DIR ${config.dataDir}: top shows one that does`);
}

async function watch(deps: CliDeps, source: Source, { once, json }: TopOptions): Promise<void> {
  const { io, environment } = deps;
  const hasColour = (environment['NO_COLOR'] ?? '') === '';
  const ending = new AbortController();
  const quit = (): void => ending.abort();
  // A reader that has gone away, such as `head`, closes it.
  io.output.once('close', quit);
  if (once === undefined) void deps.untilStopped().then(quit, quit);
  if (json !== undefined)
    return refresh(source, once, ending.signal, (figures, trouble) => {
      if (figures !== undefined && trouble === undefined) io.out(`${stringify('CliTop', figures)}\n`);
      else io.error(`auditlog: ${trouble}\n`);
    });
  if (once !== undefined || !isTerminal(io.output))
    return refresh(source, once, ending.signal, (figures, trouble) =>
      io.out(`${frameOf(figures, source.url, spaceOf(io, hasColour), trouble).join('\n')}\n`),
    );
  await Screen.with(io, hasColour, quit, (screen) => {
    const show: Show = (figures, trouble) => screen.draw(frameOf(figures, source.url, screen.space, trouble));
    show(undefined, 'the first interval is under way');
    return refresh(source, once, ending.signal, show);
  });
}

/** Shows interval after interval until it is told to end; a server that is away is waited for. Rejects with `once` alone. */
async function refresh(
  source: Source,
  once: true | undefined,
  ending: AbortSignal,
  show: Show,
): Promise<void> {
  let earlier = await sample(source);
  let figures: Figures | undefined;
  for (;;) {
    await sleep(limits.topIntervalMs, undefined, { signal: ending }).catch(() => undefined);
    if (ending.aborted) return;
    try {
      const later = await sample(source);
      figures = figuresOf(earlier, later);
      earlier = later;
      show(figures);
    } catch (error) {
      if (once !== undefined) throw error;
      show(figures, error instanceof Error ? error.message : String(error));
    }
    if (once !== undefined) return;
  }
}

async function sample({ url, fetch: ask, storage }: Source): Promise<Sample> {
  const [text, engine] = await Promise.all([metricsText(url, ask), askEngine(storage)]);
  return { atMs: Date.now(), metrics: new Metrics(text), engine };
}

async function metricsText(url: string, ask: typeof fetch): Promise<string> {
  let answer: Response;
  try {
    answer = await ask(`${url}/metrics`, { signal: AbortSignal.timeout(limits.topAskMsMax) });
  } catch (error) {
    throw new Error(`the server at ${url} does not answer`, { cause: error });
  }
  const text = await answer.text();
  if (answer.status === 200) return text;
  throw new Error(
    `the server at ${url} does not show its metrics (${answer.status}): with TRUST_PROXY it does so with METRICS_PUBLIC=1 only`,
  );
}

/** `top` (contract: Command line): what a running server is doing, every two seconds. */
export function registerTop(program: Command, deps: CliDeps): void {
  program
    .command('top')
    .description('show what the server on DATA_DIR is doing, every 2 seconds; q or Ctrl-C ends it')
    .option('--once', 'show one interval and end')
    .option('--json', 'print a line of JSON an interval')
    .action((options: TopOptions) => top(deps, options));
}
