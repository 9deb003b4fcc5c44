import type { Command } from 'commander';
import { createLogger } from '../base/log.ts';
import { loadConfig } from '../config/config.ts';
import { variablesHelp } from '../config/variables.ts';
import type { CliParts } from './context.ts';

const standardOutput = 1;

async function serve(parts: CliParts): Promise<void> {
  const config = loadConfig(parts.environment);
  // Asked before the start, so that a signal that comes during it is not lost.
  const stopped = parts.untilStopped();
  const log = createLogger(config.logLevel);
  const service = await parts.startService(config, { log, accessLogTo: standardOutput });
  await stopped;
  await service.stop();
}

/** `serve` (contract: Command line): everything it can be told is in the environment. */
export function registerServe(program: Command, parts: CliParts): void {
  program
    .command('serve')
    .description('run the service until SIGINT or SIGTERM')
    .addHelpText('after', `\n${variablesHelp()}`)
    .action(() => serve(parts));
}
