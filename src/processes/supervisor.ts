import { DamageRegister } from '../base/observability/damage.ts';
import type { Logger } from '../base/observability/log.ts';
import { collectProcessMetrics, metricsOfProcess } from '../base/observability/metrics.ts';
import { firstSeqOf } from '../base/events/sequence.ts';
import { localUrl, removeServerFile, writeServerFile } from '../base/files/server-file.ts';
import { StopStack } from '../base/processes/stop-stack.ts';
import { fullDiskWords } from '../base/errors/system-error.ts';
import type { Config } from '../config/config.ts';
import { requireUsable, takeDataDir } from '../config/data-dir.ts';
import { checkListener } from '../config/listener.ts';
import { holdEngine, isOutOfRoom, type StorageOptions, watchParts } from '../storage/open-storage.ts';
import { reportUnreadable } from '../storage/parts-watch.ts';
import { lowestWatermark } from '../storage/watermarks.ts';
import { steadyClock } from '../base/time/steady-clock.ts';
import { FrontEnds, type SupervisorAnswers } from './front-ends.ts';
import { limits } from './limits.ts';
import { LineOutput } from './line-output.ts';
import type { Listening } from './questions.ts';

interface SupervisorOptions {
  readonly config: Config;
  /** What the configuration was read from: front ends read it, too. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly envelope: StorageOptions['envelope'];
  readonly log: Logger;
  /** Where the lines of the access log go: a file descriptor or a path. */
  readonly accessLogTo: number | string;
}

/** The front ends of a server, and what they share. */
export interface RunningProcesses {
  /** Resolves with an exit code when a front end cannot be started; then the server has to end. */
  readonly failed: Promise<number>;
  /** Drains and stops, as at SIGTERM. */
  stop(): Promise<void>;
}

/**
 * The parent of the front ends. It holds what there is once for all: the lock of the data directory, the embedded engine
 * with its ledger, the announcement to commands. It takes no request and sends no event.
 */
export async function startProcesses(options: SupervisorOptions): Promise<RunningProcesses> {
  const { config, log } = options;
  const stops = new StopStack(log);
  try {
    return await start(options, stops);
  } catch (error) {
    await stops.run();
    throw isOutOfRoom(error, config.clickhouse)
      ? new Error(fullDiskWords(config.dataDir), { cause: error })
      : error;
  }
}

async function start(options: SupervisorOptions, stops: StopStack): Promise<RunningProcesses> {
  const { config, environment, log } = options;
  collectProcessMetrics();
  const lock = await takeDataDir(config.dataDir, log);
  stops.add(() => lock.release());
  await requireUsable(config.dataDir);
  // Front ends share the address with each other, and with nobody else.
  await checkListener(config);
  const shared = { ...config, ...options, damage: new DamageRegister(), stops };
  const engine = await startEngine(shared);
  const output = new LineOutput(options.accessLogTo, log);
  stops.add(() => output.close(limits.askMsMax));
  const { processes, port } = config;
  const answers = answersOf(shared, engine, <Name extends 'metrics' | 'damage'>(name: Name) =>
    frontEnds.ask(name),
  );
  const frontEnds = new FrontEnds({
    processes,
    port,
    engine: engine?.connection,
    environment,
    answers,
    announce: announcer(config, log),
    output,
    log,
  });
  stops.add(() => removeServerFile(config.dataDir));
  stops.add(() => frontEnds.stop());
  frontEnds.start();
  return { failed: frontEnds.failed, stop: () => stops.run() };
}

/** Writes server.json with the first front end that listens, and where they serve another certificate. */
function announcer({ dataDir, host, tls }: Config, log: Logger): (address: Listening) => Promise<void> {
  let announced: string | undefined;
  return async ({ port, certificate }) => {
    const url = localUrl(host, port, tls !== undefined);
    const what = `${url} ${certificate}`;
    if (what === announced) return;
    announced = what;
    await writeServerFile(dataDir, { url, certificate }, log);
  };
}

type Shared = SupervisorOptions & StorageOptions;
type Engine = Awaited<ReturnType<typeof startEngine>>;

/** The embedded engine and its ledger; undefined where there is a ClickHouse server. */
async function startEngine(shared: Shared) {
  if (shared.clickhouse.url !== undefined) return undefined;
  const held = await holdEngine(shared);
  const { storage } = held;
  const steadyMs = steadyClock();
  await watchParts(
    held,
    shared,
    async () => firstSeqOf(await lowestWatermark(storage)),
    () => steadyMs() * 1000,
  );
  return { own: held.own, connection: held.engine.connection };
}

function answersOf(
  { damage, log }: Shared,
  engine: Engine,
  ask: <Name extends 'metrics' | 'damage'>(name: Name) => ReturnType<typeof FrontEnds.prototype.ask<Name>>,
): SupervisorAnswers {
  const ownEngine = () => {
    if (engine === undefined) throw new Error('the engine is not of this server');
    return engine.own;
  };
  return {
    metrics: async () => [await metricsOfProcess('supervisor'), ...(await ask('metrics'))],
    damage: async () => [...damage.list(), ...(await ask('damage')).flat()],
    look: () => ownEngine().look(),
    checkWritten: ({ process }) => ownEngine().checkWritten(process),
    unreadable: async ({ part }) => reportUnreadable(damage, log, part),
  };
}
