import { type ByteFlow, peekFlow } from '../base/bytes/byte-flow.ts';
import { onShard } from '../storage/cluster.ts';
import type { Settings, Storage } from '../storage/storage.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { byteOrderMark, csvAliases, csvHeader, csvLine, countLongCells } from './export-csv.ts';
import { type AuditFilter, type EventSchema, type Where, whereClause } from './filter.ts';
import { type EventEnvelope, envelopeSettings } from './envelope.ts';
import { countQuery } from './offset-index.ts';
import { newestFirst, streamSettings, throughTexts } from './plans.ts';
import type { Ocsf110Reads } from './ocsf110/body.ts';
import { type Frame, Ocsf110Flow } from './ocsf110/flow.ts';
import { rowColumns, totalBytes, readTotal } from './ocsf110/rows.ts';

export const exportFormats = ['ndjson', 'json', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface ExportRequest {
  readonly format: ExportFormat;
  readonly filter: AuditFilter;
  /** Not with CSV. */
  readonly schema?: EventSchema;
  /** With CSV, for Excel: writes a byte order mark and counts the cells that Excel would truncate. */
  readonly bom?: boolean;
  readonly seqMax?: string;
  /** A part of a larger file: no header, no brackets. */
  readonly bare?: true;
}

export interface ExportStream {
  readonly total: number;
  readonly longCells?: number;
  /** Ends cleanly only after the last event; fails with an EngineError. */
  readonly stream: ByteFlow;
}

/** Rejects with EngineError before the first byte. `organization` is a lower-case UUID. */
export type ExportReader = (
  organization: string,
  request: ExportRequest,
  nowMicros: number,
  signal: AbortSignal,
) => Promise<ExportStream>;

/** Separates the total from the first event (`withTotal`). */
const totalEnd = '|';

const totalBytesMax = 42;

interface Form {
  readonly inner: string;
  readonly outer: string;
  readonly settings: Settings;
  readonly lead: string;
  readonly empty: string;
  readonly preamble: string;
}

/** The outer query's rows are ordered: its first row is the first of the answer. */
const withTotal = (column: string, bom = false): string => {
  const counts = bom ? "toString(total), ' ', toString(long_cells)" : 'toString(total)';
  return `concat(if(rowNumberInAllBlocks() = 0, concat(${counts}, '${totalEnd}'), ''), ${column}) AS first_column`;
};

function eventForm({ head, tail }: EventEnvelope, request: ExportRequest, nowMicros: number): Form {
  const lines = request.format === 'ndjson';
  const bare = request.bare === true || lines;
  const before = bare ? '' : '[';
  const after = bare ? '' : ']\n';
  const text = { before, rowBefore: head, rowAfter: `"logged_time":${nowMicros}${tail}`, after };
  const settings = envelopeSettings(text);
  return {
    inner: 'ocsf',
    outer: withTotal('ocsf'),
    settings: lines
      ? {
          ...settings,
          format_custom_row_after_delimiter: `${text.rowAfter}\n`,
          format_custom_row_between_delimiter: '',
        }
      : settings,
    lead: `${before}${head}`,
    empty: `${before}${after}`,
    preamble: '',
  };
}

function csvForm(request: ExportRequest): Form {
  return {
    inner: `${csvLine} AS line`,
    outer: withTotal('line', request.bom),
    settings: {
      ...envelopeSettings({ before: '', rowBefore: '', rowAfter: '\r\n', after: '' }),
      format_custom_row_between_delimiter: '',
      // Making the lines is most of the work: two threads do it before the lines are merged.
      max_threads: 2,
      query_plan_execute_functions_after_sorting: 0,
    },
    lead: '',
    empty: '',
    preamble: request.bare === true ? '' : `${request.bom === true ? byteOrderMark : ''}${csvHeader}`,
  };
}

/**
 * Newest first (contract: Read, export). Count and events are one query on one snapshot, so the total is exact; it begins the
 * first row and is cut out here.
 */
export function createExportReader(storage: Storage, envelope: EventEnvelope): ExportReader {
  return async (organization, request, nowMicros, signal) => {
    const form = request.format === 'csv' ? csvForm(request) : eventForm(envelope, request, nowMicros);
    const where = exportWhere(organization, request);
    const aliases = request.format === 'csv' ? `${csvAliases}, ` : '';
    const counted = request.bom === true ? `, (${countLongCells(where.sql)}) AS long_cells` : '';
    const rows =
      `WITH (${countOfExport(request, where)}) AS total${counted} SELECT ${form.outer} FROM (` +
      `WITH ${aliases}1 AS one SELECT ${form.inner} FROM events WHERE ${where.sql} ${newestFirst})`;
    const query = `${onShard(storage, rows)} FORMAT CustomSeparated`;
    // The engine's default, pinned.
    const plan = { ...streamSettings, ...form.settings, ...throughTexts(request.filter) };
    const settings = { ...plan, enable_shared_storage_snapshot_in_query: 1 };
    const flow = await storage.flow(query, where.parameters, { settings, signal });
    try {
      return await takeTotal(flow, form, request);
    } catch (error) {
      flow.destroy();
      throw error;
    }
  };
}

/** As OCSF 1.1.0 in `ndjson` or `json`, mapped at the reader's pace (contract: OCSF 1.1.0). Each row has the total. */
export function createOcsf110ExportReader({ storage, pool }: Ocsf110Reads): ExportReader {
  return async (organization, request, _nowMicros, signal) => {
    const where = exportWhere(organization, request);
    const counted =
      `WITH (${countOfExport(request, where)}) AS total SELECT ${rowColumns('total')} FROM (` +
      `SELECT seq, time, source FROM events WHERE ${where.sql} ${newestFirst})`;
    const query = `${onShard(storage, counted)} FORMAT RowBinary`;
    const plan = { ...streamSettings, ...throughTexts(request.filter) };
    const settings = { ...plan, enable_shared_storage_snapshot_in_query: 1 };
    const rows = await storage.flow(query, where.parameters, { settings, signal });
    try {
      const { start, continueWith } = await peekFlow(rows, totalBytes);
      const total = start.length === 0 ? 0 : readTotal(start);
      return { total, stream: new Ocsf110Flow(continueWith(start), pool, organization, frameOf(request)) };
    } catch (error) {
      rows.destroy();
      throw error;
    }
  };
}

function frameOf({ format, bare }: ExportRequest): Frame {
  if (format === 'ndjson') return { before: '', between: '', behind: '\n', after: '' };
  const isBare = bare === true;
  return { before: isBare ? '' : '[', between: ',\n', behind: '', after: isBare ? '' : ']\n' };
}

function countOfExport({ filter, seqMax }: ExportRequest, where: Where): string {
  return seqMax === undefined ? countQuery(filter, where) : `SELECT count() FROM events WHERE ${where.sql}`;
}

/** `seqMax` makes parts that are read one after another belong to one moment. */
export function exportWhere(
  organization: string,
  { filter, seqMax }: Pick<ExportRequest, 'filter' | 'seqMax'>,
) {
  const where = whereClause(organization, filter);
  if (seqMax === undefined) return where;
  return {
    sql: `${where.sql} AND seq <= {seq_max:UInt64}`,
    parameters: { ...where.parameters, seq_max: seqMax },
  };
}

async function takeTotal(
  flow: ByteFlow,
  { lead, empty, preamble }: Form,
  { bom = false }: ExportRequest,
): Promise<ExportStream> {
  const leadBytes = Buffer.byteLength(lead);
  const { start, continueWith } = await peekFlow(flow, leadBytes + totalBytesMax);
  const bytes = Buffer.from(start.buffer, start.byteOffset, start.byteLength);
  if (bytes.toString('latin1') === empty)
    return { total: 0, ...(bom && { longCells: 0 }), stream: continueWith(Buffer.from(preamble + empty)) };
  const end = bytes.indexOf(totalEnd, leadBytes);
  const [total = NaN, longCells] = bytes.toString('latin1', leadBytes, end).split(' ').map(Number);
  if (end < 0 || !Number.isSafeInteger(total)) {
    throw new EngineError('refused', 'An export does not begin with its total');
  }
  const instead = [Buffer.from(preamble), bytes.subarray(0, leadBytes), bytes.subarray(end + 1)];
  return {
    total,
    ...(longCells !== undefined && { longCells }),
    stream: continueWith(Buffer.concat(instead)),
  };
}
