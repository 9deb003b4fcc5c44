import type { Command } from 'commander';
import { createLogger } from '../base/observability/log.ts';
import { loadConfig } from '../config/config.ts';
import type { Environment } from '../config/env.ts';
import type { CliDeps } from './context.ts';

interface ServeOptions {
  readonly host?: string;
  readonly port?: string;
  readonly dataDir?: string;
}

const standardOutput = 1;

async function serve(deps: CliDeps, { host, port, dataDir }: ServeOptions): Promise<void> {
  const environment: Environment = {
    ...deps.environment,
    ...(host !== undefined && { HOST: host }),
    ...(port !== undefined && { PORT: port }),
    ...(dataDir !== undefined && { DATA_DIR: dataDir }),
  };
  const config = loadConfig(environment);
  // Listens before the start, so that it misses no signal.
  const stopped = deps.untilStopped();
  const log = createLogger(config.logLevel);
  const service = await deps.startService(config, { log, accessLogTo: standardOutput });
  await untilEnd(stopped, service.failure);
  await service.stop();
  service.failure.throwIfAborted();
}

function untilEnd(stopped: Promise<void>, failure: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (failure.aborted) resolve();
    failure.addEventListener('abort', () => resolve(), { once: true });
    stopped.then(resolve, reject);
  });
}

export function registerServe(program: Command, deps: CliDeps): void {
  program
    .command('serve')
    .description('run the service until SIGINT or SIGTERM')
    .option('--host <address>', 'address to listen on (default: HOST)')
    .option('--port <port>', 'port to listen on, 0 for any (default: PORT)')
    .option('--data-dir <directory>', 'directory of all data (default: DATA_DIR)')
    .addHelpText('after', '\nAll other settings are environment variables: auditlog help environment')
    .action((options: ServeOptions) => serve(deps, options));
}
