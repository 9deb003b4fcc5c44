import type { Readable } from 'node:stream';
import { toReadable } from '../base/bytes/byte-flow.ts';
import { systemClock } from '../base/time/clock.ts';
import type { Organization } from '../control/organizations.ts';
import {
  createExportReader,
  createOcsf110ExportReader,
  exportFormats,
  type ExportReader,
} from '../read/export.ts';
import type { Ocsf110Pool } from '../read/ocsf110/pool.ts';
import { byteOrderMark, csvHeader } from '../read/export-csv.ts';
import { hasOtherRows, streamParquet } from '../read/export-parquet.ts';
import { type ExportPlan, type ExportSlice, planExport } from '../read/export-plan.ts';
import type { AuditFilter } from '../read/filter.ts';
import { type ExportSnapshot, SnapshotGoneError } from './export-file.ts';
import { reportLongCells } from '../tools/export.ts';
import { eventColumns } from './parquet/columns.ts';
import { toParquet } from './parquet/file.ts';
import type { ControlContext } from './command-work.ts';

export const formats = [...exportFormats, 'parquet'] as const;
export type Format = (typeof formats)[number];

export interface ExportRun extends ControlContext {
  readonly organization: Organization;
  readonly format: Format;
  /** Maps OCSF 1.1.0 events, if requested. */
  readonly pool: Ocsf110Pool | undefined;
  readonly filter: AuditFilter;
  readonly filtersGiven: Readonly<Record<string, string>>;
  readonly stop: AbortSignal;
  /** For Excel, with CSV. */
  readonly bom?: boolean;
}

/** Never aborted: output to standard output ends with the process. */
export const untilTheEnd: AbortSignal = new AbortController().signal;

export type Plan = ExportSnapshot & ExportPlan;

/**
 * Rejects with SnapshotGoneError if the table no longer has all events of the snapshot, and so does the next.
 */
async function openEngineParquet(run: ExportRun, { seqMax, rows }: Plan): Promise<Readable> {
  const { storage, organization, filter } = run;
  try {
    return await streamParquet(storage, organization.id, { filter, seqMax, rows }, run.stop);
  } catch (error) {
    throw hasOtherRows(error) ? new SnapshotGoneError() : error;
  }
}

/** The reader of the requested schema. */
export function chooseReader({ deps, config, storage, pool }: ExportRun): ExportReader {
  if (pool !== undefined) return createOcsf110ExportReader({ storage, pool });
  return createExportReader(storage, deps.eventEnvelope(config));
}

export async function openOcsf110(run: ExportRun, { seqMax, rows, takenMicros }: Plan): Promise<Readable> {
  const request = { format: 'ndjson', filter: run.filter, seqMax } as const;
  const { total, stream } = await chooseReader(run)(run.organization.id, request, takenMicros, run.stop);
  if (total === rows) return toReadable(stream);
  stream.destroy();
  throw new SnapshotGoneError();
}

/** One Parquet file: made by the engine, or, with OCSF 1.1.0, by us with all classes together. */
export async function openParquet(run: ExportRun, plan: Plan): Promise<AsyncIterable<Buffer>> {
  if (run.pool === undefined) return openEngineParquet(run, plan);
  return toParquet(await openOcsf110(run, plan), eventColumns());
}

type ReadSlice = (slice: ExportSlice, index: number) => Promise<AsyncIterable<Buffer>>;

/**
 * Reads slices of a file in any format; the first includes the opening, the last the closing. Rejects with
 * SnapshotGoneError if the table no longer has the plan's events.
 */
export function sliceReader(run: ExportRun, plan: Plan): ReadSlice {
  const { organization, format } = run;
  if (format === 'parquet') return () => openParquet(run, plan);
  const read = chooseReader(run);
  const opens = { ndjson: '', json: '[', csv: `${run.bom ? byteOrderMark : ''}${csvHeader}` }[format];
  const between = format === 'json' ? ',\n' : '';
  const closes = format === 'json' ? ']\n' : '';
  return async ({ fromMicros, toMicros, rows }, index) => {
    const filter = { ...run.filter, fromMicros, toMicros };
    const request = {
      format,
      filter,
      seqMax: plan.seqMax,
      bare: true,
      ...(run.bom && { bom: true }),
    } as const;
    const { total, longCells, stream } = await read(organization.id, request, plan.takenMicros, run.stop);
    if (total !== rows) {
      stream.destroy();
      throw new SnapshotGoneError();
    }
    reportLongCells(run.deps, longCells);
    const isLast = index === plan.slices.length - 1;
    const whole = enclosed(toReadable(stream), index === 0 ? opens : between, isLast ? closes : '');
    return unlessStopped(whole, run.stop);
  };
}

async function* enclosed(stream: Readable, before: string, after: string): AsyncGenerator<Buffer> {
  if (before !== '') yield Buffer.from(before);
  yield* stream as AsyncIterable<Buffer>;
  if (after !== '') yield Buffer.from(after);
}

/** A slice counts as finished when its stream ends, so a stopped one must not end. */
async function* unlessStopped(slice: AsyncIterable<Buffer>, stop: AbortSignal): AsyncGenerator<Buffer> {
  for await (const piece of slice) {
    stop.throwIfAborted();
    yield piece;
  }
  stop.throwIfAborted();
}

export async function makePlan(run: ExportRun): Promise<Plan> {
  const { storage, organization, filter, format } = run;
  const takenMicros = systemClock();
  const plan = await planExport(storage, organization.id, filter);
  if (format !== 'parquet') return { takenMicros, ...plan };
  const [fromMicros, toMicros] = [plan.slices.at(-1)?.fromMicros ?? 0, plan.slices[0]?.toMicros ?? 0];
  return { takenMicros, ...plan, slices: [{ fromMicros, toMicros, rows: plan.rows }] };
}
