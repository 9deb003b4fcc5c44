import type { Command } from 'commander';
import { limits } from './limits.ts';
import type { CliDeps } from './context.ts';
import { formatNames } from './forward/formats.ts';
import { type ForwardOptions, forwardPlan } from './forward/options.ts';
import { forward } from './forward/run.ts';

async function run(deps: CliDeps, options: ForwardOptions): Promise<void> {
  const plan = await forwardPlan(options, deps.environment);
  const stop = new AbortController();
  void deps.untilStopped().then(() => stop.abort());
  await forward(plan, { io: deps.io, stop: stop.signal });
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

const notes = `
The key is taken from AUDITLOG_API_KEY or --key-file. In --header, \${VARIABLE} is filled from the environment, so
that a secret need not be an argument: --header 'Authorization: Splunk \${SPLUNK_TOKEN}'.

Delivery is at least once. After a crash one batch may be delivered twice: not into a file, which is cut back to what
the checkpoint knows, and not with elastic-bulk, where an event keeps its _id.`;

/** `forward` (contract: Command line): what a client of the audit API does to feed another system. */
export function registerForward(program: Command, deps: CliDeps): void {
  program
    .command('forward')
    .description(
      'write the events of an audit API to standard output, a file or an HTTP address, as they come',
    )
    .requiredOption('--url <url>', 'address of the audit service')
    .option('--key-file <file>', 'file with the API key (default: the variable AUDITLOG_API_KEY)')
    .option('--to <destination>', '-, file:PATH or an http(s) address', '-')
    .option('--format <name>', formatNames.join(', '), 'ndjson')
    .option('--header <header>', "'Name: value' for an HTTP destination, repeatable", collect)
    .option('--header-file <file>', 'such headers, one a line')
    .option('--gzip', 'compress what is sent to an HTTP destination')
    .option(
      '--rejected-to <file>',
      'where events go that the destination refuses for good; without it they end the run',
    )
    .option('--checkpoint <file>', 'where to remember how far it has come')
    .option('--once', 'end when there is nothing more')
    .option(
      '--interval <duration>',
      'time between looks (default: the feed is waited at, pages are read every 5m)',
    )
    .option('--mode <mode>', 'feed, pages, or auto: the feed where the server has one', 'auto')
    .option('--overlap <duration>', 'mode pages: how late an event may come and still be found', '10m')
    .option('--batch <count>', 'events delivered in one piece', String(limits.forwardBatchEventsMax))
    .option('--rotate-bytes <size>', 'file: begin a new one before it grows above this, such as 64MiB')
    .option('--rotate-keep <count>', 'file: how many of the old ones are kept (default: all)')
    .option('--timeout <duration>', 'of each request', '30s')
    .option('--metrics-interval <duration>', 'time between lines of figures on standard error', '1m')
    .option('--start-time <time>', 'begin with the events of this time (RFC 3339)')
    .option('--actor <address>', 'only of this actor')
    .option('--user-id <id>', 'only of this user')
    .option('--file-name <name>', 'only with this file')
    .option('--file-hash <hash>', 'only with this file hash')
    .option('--flow-id <uuid>', 'only of this flow')
    .addHelpText('after', notes)
    .action((options: ForwardOptions) => run(deps, options));
}
