import type { Command } from 'commander';
import type { ToolDeps } from './context.ts';
import { formatNames } from './forward/formats.ts';
import {
  destination,
  eventSchemas,
  type ForwardOptions,
  forwardModes,
  readSecrets,
  rotationBytes,
} from './forward/options.ts';
import { forward } from './forward/run.ts';
import {
  addFilters,
  addRows,
  durationMs,
  integer,
  oneOf,
  option,
  type OptionRow,
  type ReadOption,
  serviceAddress,
} from './option.ts';
import { s3Rows } from './s3.ts';
import { trustRows } from './trusted-fetch.ts';

const forwardBatchEventsMax = 1000;

async function run(deps: ToolDeps, options: ForwardOptions): Promise<void> {
  const secrets = await readSecrets(options, deps.environment);
  const stop = new AbortController();
  void deps.untilStopped().then(() => stop.abort());
  await forward({ ...options, ...secrets }, { io: deps.io, stop: stop.signal });
}

const collect: ReadOption<readonly string[]> = (value, _name, before = []) => [
  ...(before as readonly string[]),
  value,
];
const batchMax = forwardBatchEventsMax;

const notes = `
The key comes from AUDITLOG_API_KEY or --key-file. In --header, \${VARIABLE} is filled from the
environment, so that a secret need not be an argument:
--header 'Authorization: Splunk \${SPLUNK_TOKEN}'.

With s3, credentials are taken from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.

Each event is delivered at least once. After a crash one batch may be delivered twice, except to a
file, which is truncated to its checkpoint, and with elastic-bulk, where an event keeps its _id.`;

const optionTable: readonly OptionRow[] = [
  ['--key-file <file>', 'file with the API key (default: the variable AUDITLOG_API_KEY)'],
  ...trustRows,
  ['--to <destination>', '-, file:PATH, http(s)://…, syslog+tcp://… or +tls, s3://BUCKET', destination, '-'],
  ['--format <name>', formatNames.join(', '), oneOf(formatNames), 'ndjson'],
  ['--schema <name>', 'form of the events: default, or ocsf (OCSF 1.1.0)', oneOf(eventSchemas), 'default'],
  ['--header <header>', "'Name: value' for an HTTP destination, repeatable", collect],
  ['--header-file <file>', 'file of headers, one a line'],
  ['--gzip', 'compress requests to an HTTP destination or a bucket'],
  ['--label <name=value>', 'label of the Loki stream or attribute of the OTLP resource, repeatable', collect],
  ...s3Rows,
  ['--rejected-to <file>', 'file for events that the destination refuses; without it a refusal ends the run'],
  ['--checkpoint <file>', 'file for the position'],
  ['--once', 'end after the last event'],
  ['--interval <duration>', 'time between reads (default: none for the feed, 5m for pages)', durationMs(100)],
  ['--mode <mode>', 'feed, pages, or auto: the feed if the server has one', oneOf(forwardModes), 'auto'],
  ['--overlap <duration>', 'mode pages: maximum delay of an event', durationMs(1000), '10m'],
  ['--batch <count>', 'events of one delivery', integer(1, batchMax), String(batchMax)],
  ['--rotate-bytes <size>', 'file: rotate before it exceeds this size, such as 64MiB', rotationBytes],
  ['--rotate-keep <count>', 'file: number of rotated files to keep (default: all)', integer(1, 1_000_000)],
  ['--timeout <duration>', 'of each request', durationMs(1000, 240_000), '30s'],
  ['--metrics-interval <duration>', 'time between progress lines', durationMs(1000), '1m'],
];

export function registerForward(program: Command, deps: ToolDeps): void {
  const command = program
    .command('forward')
    .description(
      'follow an audit API and write its events to standard output, files, a log platform or a bucket',
    )
    .addOption(option('--url <url>', 'address of the audit service', serviceAddress).makeOptionMandatory())
    .addHelpText('after', notes)
    .action((options: ForwardOptions) => run(deps, options));
  addRows(command, optionTable);
  // A follower has no end time.
  addFilters(command, { except: ['endTime'] });
}
