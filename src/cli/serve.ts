import type { Command } from 'commander';
import { createLogger } from '../base/log.ts';
import { loadConfig } from '../config/config.ts';
import { variablesHelp } from '../config/variables.ts';
import type { CliDeps } from './context.ts';

const standardOutput = 1;

async function serve(deps: CliDeps): Promise<void> {
  const config = loadConfig(deps.environment);
  // Listens before the start, so that it misses no signal during it.
  const stopped = deps.untilStopped();
  const log = createLogger(config.logLevel);
  const service = await deps.startService(config, { log, accessLogTo: standardOutput });
  await stopped;
  await service.stop();
}

/** `serve` (contract: Command line): the environment configures it. */
export function registerServe(program: Command, deps: CliDeps): void {
  program
    .command('serve')
    .description('run the service until SIGINT or SIGTERM')
    .addHelpText('after', `\n${variablesHelp()}`)
    .action(() => serve(deps));
}
