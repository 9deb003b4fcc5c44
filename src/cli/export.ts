import { createHash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { toReadable } from '../base/bytes/byte-flow.ts';
import { systemClock } from '../base/time/clock.ts';
import { Problem } from '../base/errors/problem.ts';
import { formatMicros } from '../base/time/timestamp.ts';
import { exported, sourceEvent } from '../control/change-events.ts';
import { findOrganization, type Organization } from '../control/organizations.ts';
import type { ControlState } from '../control/state.ts';
import { cutOffOf } from '../control/retention.ts';
import { type AuditFilter, readFilter } from '../read/filter.ts';
import { QueryParameters } from '../read/parameters.ts';
import { Ocsf110Pool } from '../read/ocsf110/pool.ts';
import { compressionOfName } from '../tools/compress.ts';
import type { CliDeps } from './context.ts';
import { exportEvidence } from './export-evidence.ts';
import { type ExportResult, type ExportSnapshot, PartialExport, SnapshotGoneError } from './export-file.ts';
import { PartitionedExport, type PartitionResult } from './export-partitions.ts';
import {
  type ExportRun,
  type Format,
  formats,
  openParquet,
  openOcsf110,
  type Plan,
  makePlan,
  chooseReader,
  sliceReader,
  untilTheEnd,
} from './export-read.ts';
import { limits } from './limits.ts';
import {
  checkFormat,
  type ExportEngine,
  type ExportOptions,
  chooseFormat,
  reportLongCells,
} from '../tools/export.ts';
import { Interrupted, nothingKept, stopSignal } from '../tools/interrupted.ts';
import { type Filters, readFilters, oneOf, wrong } from '../tools/option.ts';
import { checkOutputFile, reportFile, toOutput } from '../tools/output-file.ts';
import { printJson } from './output.ts';
import { counted } from '../tools/output.ts';
import { createProgress } from '../tools/progress.ts';
import { splitLines } from '../tools/lines.ts';
import { operator, setUp, withDirectory } from './command-work.ts';

const exportSnapshotsMax = 5;

interface EngineExport extends ExportOptions {
  readonly org: string;
  readonly partitionBy?: 'day';
  readonly restart?: true;
  readonly evidence?: true;
}

function readFormat(options: EngineExport): Format {
  const { format, output = '-', partitionBy } = options;
  if (partitionBy !== undefined && (format ?? 'parquet') === 'parquet') return 'parquet';
  const known = chooseFormat(options, formats);
  if (known === 'parquet' && compressionOfName(output) !== 'none')
    throw new Problem('malformed', 'Parquet is compressed itself; give a name without .gz or .zst');
  return known;
}

/** Records the export in the self-audit before any output (contract: Sessions). */
async function recordExport(
  run: Omit<ExportRun, 'format' | 'stop'> & { readonly format: string },
  events: number,
  resumedEvents: number,
  partitionBy?: 'day',
): Promise<void> {
  const { organization, format, pool, filtersGiven } = run;
  const actor = { name: operator(), type: 'App/System' } as const;
  const details = {
    format,
    ...(pool !== undefined && { schema: 'ocsf' }),
    ...(partitionBy !== undefined && { partition_by: partitionBy }),
    filters: filtersGiven,
    events,
    ...(resumedEvents > 0 && { resumed_after: resumedEvents }),
  };
  const event = sourceEvent(exported(actor, organization.id, details), systemClock());
  await run.change('recordEvents', [event]);
  await run.hand();
}

/** Retries work whose events differ from its plan. */
async function withPlans<T>(work: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!(error instanceof SnapshotGoneError) || attempt >= exportSnapshotsMax) throw error;
    }
  }
}

/** Writes the events of one moment to a file; if the table no longer has them, of a later moment. */
async function toFile(run: ExportRun, options: EngineExport, file: string): Promise<void> {
  const { deps, organization, format, filtersGiven: filters } = run;
  const schema = { ...(run.pool && { schema: 'ocsf' }), ...(run.bom && { bom: true }) };
  const compression = compressionOfName(file);
  const subject = { organization: organization.id, format, ...schema, compression, filters };
  const plan = () => makePlan(run);
  const partial = await PartialExport.open({ file, subject, restart: options.restart === true, plan });
  try {
    const { plan: first, rowsDone: resumed } = partial;
    await recordExport(run, first.rows, resumed);
    if (resumed > 0) deps.io.error(`Continuing after ${resumed} of ${counted(first.rows, 'event')}.\n`);
    await withPlans(async (attempt) => {
      if (attempt > 1) await partial.restart(await plan());
      await writeSlices(run, partial);
    });
    const result = await partial.finish((done) => manifestOf(run, file, subject.compression, done));
    reportFile(deps, options, { file, ...result });
  } catch (error) {
    throw run.stop.aborted ? new Interrupted(keptText(run, partial)) : error;
  } finally {
    await partial.close();
  }
}

function keptText({ format }: ExportRun, { rowsDone, plan: { rows } }: PartialExport): string {
  if (format === 'parquet' || rowsDone === 0) return nothingKept;
  return `${rowsDone} of ${counted(rows, 'event')} are kept; the same command continues after them`;
}

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
  const { rows, bytes, sha256 } = result;
  const whole = { rows, bytes, sha256, completed_at: formatMicros(systemClock()) };
  return {
    version: 1,
    file: basename(file),
    ...subjectOf(run),
    compression,
    ...momentOf(run, result),
    ...whole,
  };
}

function subjectOf({ organization: { id, slug }, format, pool }: ExportRun): object {
  return { organization: { id, slug }, format, ...(pool !== undefined && { schema: 'ocsf' }) };
}

function momentOf({ filtersGiven }: ExportRun, { takenMicros, seqMax }: ExportSnapshot): object {
  const snapshot = { taken_at: formatMicros(takenMicros), logged_time: takenMicros, seq_max: seqMax };
  return { filters: filtersGiven, snapshot };
}

/** Files of one moment by class and day; if the table no longer has its events, of a later moment. */
async function toDirectory(run: ExportRun, options: EngineExport, directory: string): Promise<void> {
  const { deps, organization, filtersGiven } = run;
  // The same command gives the same names; another range of the same day gets its own file.
  const filters = createHash('sha256').update(JSON.stringify(filtersGiven)).digest('hex').slice(0, 8);
  const made = await PartitionedExport.open(directory, `${organization.slug}-${filters}`);
  try {
    const plan = await withPlans(async (attempt) => {
      const next = await makePlan(run);
      if (attempt === 1) await recordExport(run, next.rows, 0, 'day');
      else await made.restart();
      await writePartitions(run, next, made);
      return next;
    });
    const files = await made.finish((all) => directoryManifest(run, directory, plan, all));
    const bytes = files.reduce((sum, one) => sum + one.bytes, 0);
    const result = { directory, rows: plan.rows, bytes, files: [...files] };
    if (options.json === true) printJson(deps, 'CliExportDirectory', result);
    else
      deps.io.error(
        `${plan.rows} events in ${counted(files.length, 'file')} of ${directory}, ${bytes} bytes\n`,
      );
  } catch (error) {
    throw run.stop.aborted ? new Interrupted(nothingKept) : error;
  } finally {
    await made.close();
  }
}

async function writePartitions(run: ExportRun, plan: Plan, made: PartitionedExport): Promise<void> {
  const progress = createProgress(run.deps.io, { items: 'events', total: plan.rows });
  let done = 0;
  try {
    for await (const lines of splitLines(await openOcsf110(run, plan), limits.parquetLineBytesMax)) {
      for (const line of lines) await made.add(line.toString());
      done += lines.length;
      progress.at(done, done);
    }
  } finally {
    progress.end();
  }
}

function directoryManifest(
  run: ExportRun,
  directory: string,
  plan: Plan,
  files: readonly PartitionResult[],
): object {
  const whole = { rows: plan.rows, files, completed_at: formatMicros(systemClock()) };
  const head = { version: 1, directory: basename(directory), ...subjectOf(run), partition_by: 'day' };
  return { ...head, ...momentOf(run, plan), ...whole };
}

async function eventsNow(run: ExportRun): Promise<AsyncIterable<Buffer>> {
  const { organization, filter, format, bom } = run;
  if (format === 'parquet') {
    const plan = await makePlan(run);
    const stream = await openParquet(run, plan);
    await recordExport(run, plan.rows, 0);
    return stream;
  }
  const read = chooseReader(run);
  const request = { format, filter, ...(bom && { bom }) };
  const { total, longCells, stream } = await read(organization.id, request, systemClock(), run.stop);
  reportLongCells(run.deps, longCells);
  await recordExport(run, total, 0);
  return toReadable(stream) as AsyncIterable<Buffer>;
}

/** The given filter, without expired events. */
export function keptFilter(
  state: ControlState,
  organization: Organization,
  filtersGiven: Filters,
): AuditFilter {
  const cutOffMicros = cutOffOf(state.policyOf(organization.id), systemClock());
  return {
    ...readFilter(new QueryParameters(filtersGiven), organization),
    ...(cutOffMicros !== undefined && { cutOffMicros }),
  };
}

/** All entries of the tree, with matching source events: enough for `verify` without the engine. */
async function runEvidence(deps: CliDeps, options: EngineExport): Promise<void> {
  const { output, format, schema, restart, partitionBy } = options;
  if (output === undefined || output === '-')
    throw wrong('--output', 'a file, for an export with --evidence');
  if (format !== undefined || schema === 'ocsf' || restart !== undefined || partitionBy !== undefined)
    throw new Problem('malformed', 'an export with --evidence has its own format, and starts anew each time');
  const filtersGiven = readFilters(options);
  await checkOutputFile(resolve(output));
  await withDirectory(setUp(deps), async (context) => {
    const organization = findOrganization(context.directory, options.org);
    // Verifies stored events, even expired ones that are not removed yet.
    const filter = readFilter(new QueryParameters(filtersGiven), organization);
    const record = (events: number) =>
      recordExport(
        { ...context, organization, format: 'evidence', pool: undefined, filter, filtersGiven },
        events,
        0,
      );
    const isFiltered = Object.keys(filtersGiven).length > 0;
    const file = resolve(output);
    const result = await exportEvidence(context, {
      organization,
      filter,
      isFiltered,
      file,
      record,
      stop: stopSignal(deps),
    });
    reportFile(deps, options, result);
  });
}

async function run(deps: CliDeps, options: EngineExport): Promise<void> {
  if (options.evidence === true) return runEvidence(deps, options);
  const setup = setUp(deps);
  const format = readFormat(options);
  const filtersGiven = readFilters(options);
  const { output = '-', schema, partitionBy } = options;
  checkFormat(format, options);
  if (partitionBy !== undefined && (schema !== 'ocsf' || format !== 'parquet' || output === '-'))
    throw wrong('--partition-by', 'for --schema ocsf and --format parquet, with a directory as --output');
  if (output !== '-')
    await checkOutputFile(resolve(output), partitionBy === undefined ? 'file' : 'directory');
  const pool = schema === 'ocsf' ? new Ocsf110Pool(setup.config, setup.log) : undefined;
  try {
    await withDirectory(setup, async (context) => {
      const organization = findOrganization(context.directory, options.org);
      const filter = keptFilter(context.directory, organization, filtersGiven);
      const one: ExportRun = {
        ...context,
        organization,
        format,
        pool,
        filter,
        filtersGiven,
        stop: output === '-' ? untilTheEnd : stopSignal(deps),
        bom: options.bom === true,
      };
      // One query reads one moment, however slow the reader is.
      if (output === '-') await toOutput(await withPlans(() => eventsNow(one)), deps.io.output);
      else if (partitionBy !== undefined) await toDirectory(one, options, resolve(output));
      else await toFile(one, options, resolve(output));
    });
  } finally {
    await pool?.close();
  }
}

export function exportEngine(deps: CliDeps): ExportEngine {
  return {
    formats,
    options: [
      [
        '--partition-by <unit>',
        'day: a directory of Parquet files by class and day, for Security Lake',
        oneOf(['day']),
      ],
      [
        '--evidence',
        'everything for "verify": each entry of the tree with its source event, in ingest order',
      ],
      ['--restart', 'discard an interrupted export to the file'],
    ],
    run: (options) => run(deps, options as EngineExport),
  };
}
