import { limits as storageLimits } from '../storage/limits.ts';
import type { Storage } from '../storage/storage.ts';
import { exportWhere } from './export.ts';
import { type AuditFilter, timesOf, whereClause } from './filter.ts';
import { throughTexts } from './plans.ts';

/** Parts in which a command exports to a file; an interrupted one repeats at most one part. */
const exportSliceRowsMin = 250_000;
const exportSlicesMax = 2_000;

/** Unix microseconds, inclusive. */
export interface ExportSlice {
  readonly fromMicros: number;
  readonly toMicros: number;
  readonly rows: number;
}

export interface ExportPlan {
  readonly seqMax: string;
  readonly rows: number;
  readonly slices: readonly ExportSlice[];
}

const minuteMicros = 60_000_000;

const rowsOfSlice = (rows: number): number => Math.max(exportSliceRowsMin, Math.ceil(rows / exportSlicesMax));

/**
 * Slices of similar size, cut between minutes. Rejects with EngineError. A segment can reach the table after one with a greater
 * `seq`, so readers compare each slice's count with the plan's.
 */
export async function planExport(
  storage: Storage,
  organization: string,
  filter: AuditFilter,
): Promise<ExportPlan> {
  const whole = whereClause(organization, filter);
  const [found] = await storage.rows<{ rows: string; seq_max: string }>(
    `SELECT count() AS rows, max(seq) AS seq_max FROM events WHERE ${whole.sql}`,
    whole.parameters,
    { settings: throughTexts(filter) },
  );
  const seqMax = found?.seq_max ?? '0';
  const { from, to } = timesOf(filter);
  const where = exportWhere(organization, { filter, seqMax });
  const sliceRows = rowsOfSlice(Number(found?.rows ?? 0));
  const parts = await storage.rows<{ from_minute: string; rows: string }>(
    'SELECT min(minute) AS from_minute, sum(events) AS rows FROM (' +
      'SELECT minute, events, intDiv(sum(events) OVER (ORDER BY minute DESC ROWS UNBOUNDED PRECEDING) - events, ' +
      '{slice_rows:UInt64}) AS slice FROM (SELECT intDiv(toUnixTimestamp64Micro(time), {minute:Int64}) AS minute, ' +
      `count() AS events FROM events WHERE ${where.sql} GROUP BY minute)) GROUP BY slice ORDER BY slice`,
    { ...where.parameters, slice_rows: sliceRows, minute: minuteMicros },
    {
      settings: { max_bytes_before_external_group_by: storageLimits.readSpillBytes, ...throughTexts(filter) },
    },
  );
  const slices: ExportSlice[] = [];
  let toMicros = to;
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    const fromMicros = isLast ? from : Math.max(from, Number(part.from_minute) * minuteMicros);
    slices.push({ fromMicros, toMicros, rows: Number(part.rows) });
    toMicros = fromMicros - 1;
  }
  if (slices.length === 0) slices.push({ fromMicros: from, toMicros: to, rows: 0 });
  return { seqMax, rows: slices.reduce((sum, { rows }) => sum + rows, 0), slices };
}
