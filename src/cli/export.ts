import { once } from 'node:events';
import { basename, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { toReadable } from '../base/byte-flow.ts';
import { systemClock } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import { errorCode } from '../base/system-error.ts';
import { formatMicros } from '../base/timestamp.ts';
import { sourceEvent } from '../control/change-events.ts';
import { findOrganization } from '../control/organizations.ts';
import { readFilter } from '../read/filter.ts';
import { StandardPool } from '../read/standard/pool.ts';
import { compressionOfName } from './compress.ts';
import type { CliDeps } from './context.ts';
import { exportEvidence } from './export-evidence.ts';
import { type ExportResult, PartialExport, SnapshotGoneError } from './export-file.ts';
import {
  type ExportRun,
  type Format,
  formats,
  openParquet,
  planOf,
  readerOf,
  sliceReader,
  untilTheEnd,
} from './export-read.ts';
import { limits } from './limits.ts';
import { filterOptions, type Filters, filtersOf, oneOf, option, type OptionRow, wrong } from './option.ts';
import { checkOutputFile } from './output-file.ts';
import { printJson } from './output.ts';
import { createProgress } from './progress.ts';
import { operator, setUp, withStorage } from './session.ts';

interface ExportOptions extends Filters {
  readonly org: string;
  readonly format?: string;
  readonly schema?: 'default' | 'ocsf';
  readonly output?: string;
  readonly restart?: true;
  readonly evidence?: true;
  readonly json?: true;
}

/** By `--format`, else by the end of the file's name. */
function readFormat({ format, output = '-' }: ExportOptions): Format {
  const name = output.replace(/\.(?:gz|zst)$/, '');
  const known =
    format !== undefined
      ? oneOf(formats)(format, '--format', undefined)
      : (formats.find((one) => name.endsWith(`.${one}`)) ?? (output === '-' ? 'ndjson' : undefined));
  if (known === undefined)
    throw wrong(
      '--output',
      `a name that ends in .${formats.join(', .')}, or with .gz or .zst after it; else --format`,
    );
  if (known === 'parquet' && name !== output)
    throw new Problem('malformed', 'Parquet is compressed inside: give a name without .gz or .zst');
  return known;
}

/** Code of the activity "Audit events exported". */
const exportedCode = 2030;

/** Records the export in the trail of its organization before any event leaves the service (contract: Sessions). */
async function recordExport(
  run: Omit<ExportRun, 'format'> & { readonly format: string },
  events: number,
  resumedEvents: number,
): Promise<void> {
  const { deps, organization, format, pool, filtersGiven } = run;
  const name = operator();
  const event = sourceEvent(
    {
      organizationId: organization.id,
      code: exportedCode,
      level: 'INFO',
      msg: `Audit events exported by ${name} on the command line`,
      actor: { name, type: 'App/System' },
      result: { title: 'OK', code: 200 },
      extra: {
        format,
        ...(pool !== undefined && { schema: 'ocsf' }),
        filters: filtersGiven,
        events,
        ...(resumedEvents > 0 && { resumed_after: resumedEvents }),
      },
    },
    systemClock(),
  );
  await deps.recordEvents(run, [event]);
}

/** Repeats what found other events than its plan says: late ones came, or the retention of some has ended. */
async function withPlans<T>(work: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!(error instanceof SnapshotGoneError) || attempt >= limits.exportSnapshotsMax) throw error;
    }
  }
}

/** Writes the events of one moment to a file. Where the table no longer holds them, it takes a later moment. */
async function toFile(run: ExportRun, options: ExportOptions, file: string): Promise<void> {
  const { deps, organization, format, filtersGiven: filters } = run;
  const schema = run.pool === undefined ? {} : { schema: 'ocsf' };
  const compression = compressionOfName(file);
  const subject = { organization: organization.id, format, ...schema, compression, filters };
  const plan = () => planOf(run);
  const partial = await PartialExport.open({ file, subject, restart: options.restart === true, plan });
  try {
    const { plan: found, rowsDone: resumed } = partial;
    await recordExport(run, found.rows, resumed);
    if (resumed > 0) deps.io.error(`Going on after ${resumed} of ${found.rows} events.\n`);
    await withPlans(async (attempt) => {
      if (attempt > 1) await partial.restart(await plan());
      await writeSlices(run, partial);
    });
    const result = await partial.finish((done) => manifestOf(run, file, subject.compression, done));
    const { rows, bytes, sha256 } = result;
    if (options.json === true) printJson(deps, 'CliExport', { file, rows, bytes, sha256 });
    else deps.io.error(`${rows} events in ${file}, ${bytes} bytes, SHA-256 ${sha256}\n`);
  } finally {
    await partial.close();
  }
}

/** Writes the slices that are left. Rejects with SnapshotGoneError. */
async function writeSlices(run: ExportRun, partial: PartialExport): Promise<void> {
  const { plan, finishedSlices, rowsDone: doneBefore } = partial;
  const progress = createProgress(run.deps.io, { items: 'events', total: plan.rows, doneBefore });
  const read = sliceReader(run, plan);
  try {
    for (const [index, slice] of plan.slices.entries()) {
      if (index < finishedSlices) continue;
      await partial.write(await read(slice, index));
      progress.at(partial.rowsDone, partial.rowsDone - doneBefore);
    }
  } finally {
    progress.end();
  }
}

function manifestOf(run: ExportRun, file: string, compression: string, result: ExportResult): object {
  const { organization, format, pool, filtersGiven } = run;
  const { takenMicros, seqMax, rows, bytes, sha256 } = result;
  return {
    version: 1,
    file: basename(file),
    organization: { id: organization.id, slug: organization.slug },
    format,
    ...(pool !== undefined && { schema: 'ocsf' }),
    compression,
    filters: filtersGiven,
    snapshot: { taken_at: formatMicros(takenMicros), logged_time: takenMicros, seq_max: seqMax },
    rows,
    bytes,
    sha256,
    completed_at: formatMicros(systemClock()),
  };
}

/** All events of now, as a stream. */
async function eventsNow(run: ExportRun): Promise<Readable> {
  const { organization, filter, format } = run;
  if (format === 'parquet') {
    const plan = await planOf(run);
    const stream = await openParquet(run, plan);
    await recordExport(run, plan.rows, 0);
    return stream;
  }
  const read = readerOf(run);
  const { total, stream } = await read(organization.id, { format, filter }, systemClock(), untilTheEnd);
  await recordExport(run, total, 0);
  return toReadable(stream);
}

/** One query reads one moment, however slow the reader is. A reader that goes away is no error. */
async function toOutput(run: ExportRun): Promise<void> {
  const { output } = run.deps.io;
  const source = await withPlans(() => eventsNow(run));
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      if (!output.write(chunk)) await once(output, 'drain');
    }
  } catch (error) {
    if (errorCode(error) !== 'EPIPE') throw error;
  }
}

/** All entries of the tree, with the source events that match: what `verify` needs without the engine. */
async function runEvidence(deps: CliDeps, options: ExportOptions): Promise<void> {
  const { output, format, restart } = options;
  if (output === undefined || output === '-')
    throw wrong('--output', 'a file, for an export with --evidence');
  if (format !== undefined || restart !== undefined)
    throw new Problem(
      'malformed',
      'an export with --evidence has its own format, and is made anew each time',
    );
  const filtersGiven = filtersOf(options);
  await checkOutputFile(resolve(output));
  await withStorage(setUp(deps), async (session) => {
    const organization = await findOrganization(session.storage, options.org);
    const filter = readFilter((name) => filtersGiven[name as keyof Filters], organization);
    const record = (events: number) =>
      recordExport(
        { ...session, organization, format: 'evidence', pool: undefined, filter, filtersGiven },
        events,
        0,
      );
    const result = await exportEvidence(session, { organization, filter, file: resolve(output), record });
    if (options.json === true) printJson(deps, 'CliExport', result);
    else
      deps.io.error(
        `${result.rows} events in ${result.file}, ${result.bytes} bytes, SHA-256 ${result.sha256}\n`,
      );
  });
}

async function run(deps: CliDeps, options: ExportOptions): Promise<void> {
  if (options.evidence === true) return runEvidence(deps, options);
  const setup = setUp(deps);
  const format = readFormat(options);
  const filtersGiven = filtersOf(options);
  const { output = '-', schema } = options;
  if (schema === 'ocsf' && format !== 'ndjson' && format !== 'json')
    throw wrong('--schema', `ocsf is for --format ndjson or json; ${format} has columns of its own`);
  if (output !== '-') await checkOutputFile(resolve(output));
  const pool = schema === 'ocsf' ? new StandardPool(setup.config, setup.log) : undefined;
  try {
    await withStorage(setup, async (session) => {
      const organization = await findOrganization(session.storage, options.org);
      const filter = readFilter((name) => filtersGiven[name as keyof Filters], organization);
      const one: ExportRun = { ...session, organization, format, pool, filter, filtersGiven };
      if (output === '-') await toOutput(one);
      else await toFile(one, options, resolve(output));
    });
  } finally {
    await pool?.close();
  }
}

/** `export` (contract: Command line): an organization's events to a file or to standard output. */
export function registerExport(program: Command, deps: CliDeps): void {
  const command = program
    .command('export')
    .description("write an organization's events, newest first, as one consistent snapshot")
    .requiredOption('--org <slug>', 'slug or id of the organization')
    .option('--format <format>', `${formats.join(', ')} (default: by the name of the file, else ndjson)`)
    .addOption(
      option(
        '--schema <name>',
        'form of the events: default, or ocsf (OCSF 1.1.0)',
        oneOf(['default', 'ocsf']),
        'default',
      ),
    )
    .option('-o, --output <file>', 'file, compressed as .gz or .zst if named so (default: standard output)')
    .option(
      '--evidence',
      'what "verify" needs: every entry of the tree with its source event, in the order of ingest',
    )
    .option('--restart', 'throw away what an interrupted export to the file has left')
    .option('--json', 'print JSON about the file');
  for (const [name, row] of Object.entries(filterOptions) as [string, OptionRow][]) {
    command.addOption(option(...row));
    // The names of request parameters work as options, too.
    const [flags, meaning, read] = row;
    const inRequests = `--${name} <value>`;
    if (!flags.startsWith(`--${name} `)) command.addOption(option(inRequests, meaning, read).hideHelp());
  }
  command.action((options: ExportOptions) => run(deps, options));
}
