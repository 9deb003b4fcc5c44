import { once } from 'node:events';
import { basename, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { type Command, Option } from 'commander';
import { toReadable } from '../base/byte-flow.ts';
import { systemClock } from '../base/clock.ts';
import { limits } from './limits.ts';
import { Problem } from '../base/problem.ts';
import { formatMicros } from '../base/timestamp.ts';
import { sourceEvent } from '../control/change-events.ts';
import { findOrganization, type Organization } from '../control/organizations.ts';
import { createExportReader, type ExportFormat, exportFormats } from '../read/export.ts';
import { csvHeader } from '../read/export-csv.ts';
import { hasOtherRows, streamParquet } from '../read/export-parquet.ts';
import { type ExportSlice, planExport } from '../read/export-plan.ts';
import { type AuditFilter, type OrganizationNames, readFilter } from '../read/filter.ts';
import { compressionOfName } from './compress.ts';
import type { CliDeps } from './context.ts';
import {
  type ExportJob,
  type ExportSnapshot,
  exportToFile,
  type SlicePlace,
  SnapshotGoneError,
} from './export-file.ts';
import { printJson } from './output.ts';
import { createProgress } from './progress.ts';
import { operator, type Session, setUp, withStorage } from './session.ts';

const formats = [...exportFormats, 'parquet'] as const;
type Format = (typeof formats)[number];

/** Names of filters as the API has them, and as options. */
const filterOptions = [
  ['startTime', '--start-time <time>', 'events at or after this instant, RFC 3339 with an offset'],
  ['endTime', '--end-time <time>', 'events at or before this instant'],
  ['actor', '--actor <email>', "the actor's e-mail address"],
  ['userId', '--user-id <id>', "the actor's id"],
  ['fileName', '--file-name <name>', "the sender's file or the target's name"],
  ['fileHash', '--file-hash <hash>', "the sender's hash or extra.fileHash"],
  ['flowId', '--flow-id <uuid>', 'the events of one workflow'],
] as const;
type FilterName = (typeof filterOptions)[number][0];

interface ExportOptions extends Readonly<Partial<Record<FilterName, string>>> {
  readonly org: string;
  readonly format?: string;
  readonly output?: string;
  readonly restart?: true;
  readonly json?: true;
}

/** Everything that one run works with. */
interface Run extends Session {
  readonly organization: Organization;
  readonly format: Format;
  readonly filter: AuditFilter;
  readonly filtersGiven: Readonly<Partial<Record<FilterName, string>>>;
}

function readFormat({ format, output = '' }: ExportOptions): Format {
  const name = output.replace(/\.(?:gz|zst)$/, '');
  const wanted = format ?? formats.find((one) => name.endsWith(`.${one}`)) ?? 'ndjson';
  const known = formats.find((one) => one === wanted);
  if (known === undefined) throw new Problem('malformed', `--format must be one of ${formats.join(', ')}`);
  if (known === 'parquet' && name !== output) {
    throw new Problem('malformed', 'Parquet is compressed inside: give a name without .gz or .zst');
  }
  return known;
}

/** Unlike a request, a command with a filter that cannot be understood exports nothing. */
function readFilters(options: ExportOptions, organization: OrganizationNames) {
  const filtersGiven: Partial<Record<FilterName, string>> = {};
  for (const [name] of filterOptions) {
    const value = options[name];
    if (value !== undefined && value !== '') filtersGiven[name] = value;
  }
  const filter = readFilter((name) => filtersGiven[name as FilterName], organization);
  const unread = (name: FilterName, what: string) =>
    new Problem(
      'malformed',
      `${filterOptions.find(([one]) => one === name)?.[1].split(' ')[0]} must be ${what}`,
    );
  if (filtersGiven.startTime !== undefined && filter.fromMicros === undefined)
    throw unread('startTime', 'an RFC 3339 time with an offset, such as 2026-05-04T00:00:00Z');
  if (filtersGiven.endTime !== undefined && filter.toMicros === undefined)
    throw unread('endTime', 'an RFC 3339 time with an offset, such as 2026-05-04T00:00:00Z');
  if (filtersGiven.flowId !== undefined && filter.flowId === undefined) throw unread('flowId', 'a UUID');
  return { filter, filtersGiven };
}

/** Code of the activity "Audit events exported". */
const exportedCode = 2030;

/** What leaves the service is in the trail of its organization before it does (contract: Sessions). */
async function recordExport(run: Run, events: number, resumedEvents: number): Promise<void> {
  const { deps, organization, format, filtersGiven } = run;
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
        filters: filtersGiven,
        events,
        ...(resumedEvents > 0 && { resumed_after: resumedEvents }),
      },
    },
    systemClock(),
  );
  await deps.recordEvents(run, [event]);
}

/** Never aborted: a command ends with its process. */
const untilTheEnd = new AbortController().signal;

function openParquet(run: Run, rows: number, { seqMax }: ExportSnapshot): Promise<Readable> {
  const { storage, organization, filter } = run;
  return streamParquet(storage, organization.id, { filter, seqMax, rows }, untilTheEnd).catch(
    (error: unknown) => {
      throw hasOtherRows(error) ? new SnapshotGoneError() : error;
    },
  );
}

/** One slice of a file in any format; the first brings what opens the file, the last what closes it. */
function sliceReader(run: Run, format: ExportFormat): ExportJob['readSlice'] {
  const { deps, config, storage, organization } = run;
  const read = createExportReader(storage, deps.eventEnvelope(config));
  const opens = { ndjson: '', json: '[', csv: csvHeader }[format];
  const between = format === 'json' ? ',\n' : '';
  const closes = format === 'json' ? ']\n' : '';
  return async ({ takenMicros, seqMax }, { fromMicros, toMicros, rows }, { first, last }: SlicePlace) => {
    const filter = { ...run.filter, fromMicros, toMicros };
    const request = { format, filter, seqMax, bare: true as const };
    const { total, stream } = await read(organization.id, request, takenMicros, untilTheEnd);
    if (total !== rows) {
      stream.destroy();
      throw new SnapshotGoneError();
    }
    return enclosed(toReadable(stream), first ? opens : between, last ? closes : '');
  };
}

function enclosed(stream: Readable, before: string, after: string): Readable {
  if (before === '' && after === '') return stream;
  const whole = async function* () {
    if (before !== '') yield Buffer.from(before);
    yield* stream as AsyncIterable<Buffer>;
    if (after !== '') yield Buffer.from(after);
  };
  return Readable.from(whole(), { objectMode: false });
}

const newline = 0x0a;

function linesIn(chunk: Uint8Array): number {
  let lines = 0;
  for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) lines += 1;
  return lines;
}

async function planOf(run: Run) {
  const { storage, organization, filter, format } = run;
  const takenMicros = systemClock();
  const plan = await planExport(storage, organization.id, filter);
  if (format !== 'parquet') return { takenMicros, ...plan };
  const slices = [
    {
      fromMicros: plan.slices.at(-1)?.fromMicros ?? 0,
      toMicros: plan.slices[0]?.toMicros ?? 0,
      rows: plan.rows,
    },
  ];
  return { takenMicros, ...plan, slices };
}

async function toFile(run: Run, options: ExportOptions, file: string): Promise<void> {
  const { deps, organization, format, filtersGiven } = run;
  const compression = compressionOfName(file);
  let progress = createProgress(deps.io, { items: 'events', total: undefined });
  let resumedRows = 0;
  let lines = 0;
  let lastSlice: ExportSlice | undefined;
  const subject = { organization: organization.id, format, compression, filters: filtersGiven };
  const job: ExportJob = {
    file,
    subject,
    compression,
    restart: options.restart === true,
    plan: () => planOf(run),
    async beforeReading(rows, resumed) {
      await recordExport(run, rows, resumed);
      resumedRows = resumed;
      const total = format === 'parquet' ? undefined : rows;
      progress = createProgress(deps.io, { items: 'events', total, doneBefore: resumed });
      if (resumed > 0) deps.io.error(`Going on after ${resumed} of ${rows} events.\n`);
    },
    readSlice:
      format === 'parquet'
        ? (snapshot, { rows }) => openParquet(run, rows, snapshot)
        : sliceReader(run, format),
    passing(chunk, rowsBefore, slice) {
      if (deps.io.errorIsTerminal !== true || format === 'parquet') return;
      // A line break inside a cell counts as well, so a slice is never taken for more than it holds.
      lines = slice === lastSlice ? lines + linesIn(chunk) : linesIn(chunk);
      lastSlice = slice;
      const done = rowsBefore + Math.min(lines, slice.rows);
      progress.at(done, done - resumedRows);
    },
  };
  try {
    const result = await exportToFile(job, (done) => manifestOf(run, file, compression, done));
    progress.end();
    const { rows, bytes, sha256 } = result;
    const words = `${rows} events in ${file}, ${bytes} bytes, SHA-256 ${sha256}`;
    if (options.json === true) printJson(deps, 'CliExport', { file, rows, bytes, sha256 });
    else deps.io.error(`${words}\n`);
  } catch (error) {
    progress.end();
    throw error;
  }
}

type FileResult = Awaited<ReturnType<typeof exportToFile>>;

function manifestOf(run: Run, file: string, compression: string, result: FileResult): object {
  const { organization, format, filtersGiven } = run;
  const { takenMicros, seqMax, rows, bytes, sha256 } = result;
  return {
    version: 1,
    file: basename(file),
    organization: { id: organization.id, slug: organization.slug },
    format,
    compression,
    filters: filtersGiven,
    snapshot: { taken_at: formatMicros(takenMicros), logged_time: takenMicros, seq_max: seqMax },
    rows,
    bytes,
    sha256,
    completed_at: formatMicros(systemClock()),
  };
}

/** The whole as one Parquet file, of the moment that the plan found. */
async function parquetNow(run: Run): Promise<Readable> {
  for (let attempt = 1; ; attempt++) {
    const plan = await planOf(run);
    try {
      const stream = await openParquet(run, plan.rows, plan);
      await recordExport(run, plan.rows, 0);
      return stream;
    } catch (error) {
      if (!(error instanceof SnapshotGoneError) || attempt >= limits.exportSnapshotsMax) throw error;
    }
  }
}

async function eventsNow(run: Run, format: ExportFormat): Promise<Readable> {
  const { deps, config, storage, organization, filter } = run;
  const read = createExportReader(storage, deps.eventEnvelope(config));
  const found = await read(organization.id, { format, filter }, systemClock(), untilTheEnd);
  await recordExport(run, found.total, 0);
  return toReadable(found.stream);
}

/** One query, so one moment, whatever the reader's pace. A reader that goes away ends the command in peace. */
async function toOutput(run: Run): Promise<void> {
  const { deps, format } = run;
  const { output } = deps.io;
  const source = format === 'parquet' ? await parquetNow(run) : await eventsNow(run, format);
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      if (!output.write(chunk)) await once(output, 'drain');
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
  }
}

async function run(deps: CliDeps, options: ExportOptions): Promise<void> {
  const setup = setUp(deps);
  const format = readFormat(options);
  // Wrong usage is told before an engine is started.
  readFilters(options, { id: '', slug: '' });
  await withStorage(setup, async (session) => {
    const organization = await findOrganization(session.storage, options.org);
    const one: Run = { ...session, organization, format, ...readFilters(options, organization) };
    if (options.output === undefined || options.output === '-') await toOutput(one);
    else await toFile(one, options, resolve(options.output));
  });
}

/** `export` (contract: Command line): an organization's events to a file or to standard output. */
export function registerExport(program: Command, deps: CliDeps): void {
  const command = program
    .command('export')
    .description("write an organization's events, newest first, as one consistent snapshot")
    .requiredOption('--org <slug>', 'slug or id of the organization')
    .option('--format <format>', `${formats.join(', ')} (default: by the name of the file, else ndjson)`)
    .option('-o, --output <file>', 'file, compressed as .gz or .zst if named so (default: standard output)')
    .option('--restart', 'throw away what an interrupted export to the file has left')
    .option('--json', 'print JSON about the file');
  for (const [name, flags, meaning] of filterOptions) {
    command.option(flags, meaning);
    // Also by the names that requests use.
    const inRequests = new Option(`--${name} <value>`).hideHelp();
    if (!flags.startsWith(`--${name} `)) command.addOption(inRequests);
  }
  command.action((options: ExportOptions) => run(deps, options));
}
