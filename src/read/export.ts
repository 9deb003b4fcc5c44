import { type ByteFlow, peekFlow } from '../base/bytes/byte-flow.ts';
import { onShard } from '../storage/cluster.ts';
import type { Settings, Storage } from '../storage/storage.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { byteOrderMark, csvAliases, csvColumns, csvHeader, longCellsOf } from './export-csv.ts';
import { type AuditFilter, type EventSchema, type Where, whereClause } from './filter.ts';
import { type EventEnvelope, envelopeSettings } from './envelope.ts';
import { countOf } from './offset-index.ts';
import { newestFirst, streamSettings, throughTexts } from './plans.ts';
import type { Ocsf110Reads } from './ocsf110/body.ts';
import { type Frame, Ocsf110Flow } from './ocsf110/flow.ts';
import { rowColumns, totalBytes, totalOf } from './ocsf110/rows.ts';

export const exportFormats = ['ndjson', 'json', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** What to export, and how it is put together. */
export interface ExportRequest {
  readonly format: ExportFormat;
  readonly filter: AuditFilter;
  /** Not with CSV, which has columns of its own. */
  readonly schema?: EventSchema;
  /** For Excel, with CSV: a byte order mark comes first, and the cells that it cuts off are counted. */
  readonly bom?: boolean;
  /** Only events of at most this `seq`, decimal text; undefined: all. */
  readonly seqMax?: string;
  /** A part of a whole that the caller puts together: no header line, no brackets, `,\n` between array elements. */
  readonly bare?: true;
}

export interface ExportStream {
  /** How many events the stream holds: counted in the same snapshot. */
  readonly total: number;
  /** With `bom`: how many cells have more characters than Excel takes, counted in the same snapshot. */
  readonly longCells?: number;
  /** Ends cleanly only when all of them were sent; a failure is an EngineError. */
  readonly stream: ByteFlow;
}

/** Rejects with EngineError while nothing has been sent. `organization` is a lower-case UUID. */
export type ExportReader = (
  organization: string,
  request: ExportRequest,
  nowMicros: number,
  signal: AbortSignal,
) => Promise<ExportStream>;

/** Stands between the total and the first event: see `withTotal`. */
const totalEnd = '|';

/** Longest total, with the number of long cells and its end, in bytes. */
const totalBytesMax = 42;

interface Form {
  /** Columns of the inner query, and the same names for the outer one. */
  readonly inner: string;
  readonly outer: string;
  readonly settings: Settings;
  /** What the engine writes before the total in the first row, and all of it where there is no row. */
  readonly lead: string;
  readonly empty: string;
  /** Put before everything else. */
  readonly preamble: string;
}

/** In the outer query the rows are in order: its first row is the first of the answer. */
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

/** Each cell is a string, and so in quotation marks; the total stands inside those of the first cell. */
function csvForm(request: ExportRequest): Form {
  const names = csvColumns.map((_, index) => `c${index}`);
  return {
    inner: csvColumns.join(', '),
    outer: [withTotal('c0', request.bom), ...names.slice(1)].join(', '),
    settings: {
      ...envelopeSettings({ before: '', rowBefore: '', rowAfter: '\r\n', after: '' }),
      format_custom_row_between_delimiter: '',
      format_custom_escaping_rule: 'CSV',
      format_custom_field_delimiter: ',',
      format_csv_delimiter: ',',
      // Computing the cells is most of the work: it is done by two threads, before their rows are merged.
      max_threads: 2,
      query_plan_execute_functions_after_sorting: 0,
    },
    lead: '"',
    empty: '',
    preamble: request.bare === true ? '' : `${request.bom === true ? byteOrderMark : ''}${csvHeader}`,
  };
}

/**
 * Streams every matching event, newest first (contract: Read, export). Count and events are one query, whose parts
 * see the same rows of the table, so the total is that of the stream whatever arrives, merges or expires meanwhile.
 * The total travels as the beginning of the first row and is cut out here.
 */
export function createExportReader(storage: Storage, envelope: EventEnvelope): ExportReader {
  return async (organization, request, nowMicros, signal) => {
    const form = request.format === 'csv' ? csvForm(request) : eventForm(envelope, request, nowMicros);
    const where = exportWhere(organization, request);
    const aliases = request.format === 'csv' ? `${csvAliases}, ` : '';
    const counted = request.bom === true ? `, (${longCellsOf(where.sql)}) AS long_cells` : '';
    const rows =
      `WITH (${countOfExport(request, where)}) AS total${counted} SELECT ${form.outer} FROM (` +
      `WITH ${aliases}1 AS one SELECT ${form.inner} FROM events WHERE ${where.sql} ${newestFirst})`;
    const query = `${onShard(storage, rows)} FORMAT CustomSeparated`;
    // The snapshot is shared by default in this engine; named, so that another default cannot take it away.
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

/**
 * The same as events of OCSF 1.1.0, in `ndjson` or `json`, which are mapped from their source events as fast as the
 * reader takes them (contract: OCSF 1.1.0). Each row brings the total.
 */
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
      const total = start.length === 0 ? 0 : totalOf(start, 0);
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

/** No counts are kept of what is below an order number. */
function countOfExport({ filter, seqMax }: ExportRequest, where: Where): string {
  return seqMax === undefined ? countOf(filter, where) : `SELECT count() FROM events WHERE ${where.sql}`;
}

/** The condition of an export; `seqMax` makes parts that are read one after the other belong to one moment. */
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

/** Reads as far as the total and takes it out. */
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
    throw new EngineError('refused', 'an export does not begin with its total');
  }
  const instead = [Buffer.from(preamble), bytes.subarray(0, leadBytes), bytes.subarray(end + 1)];
  return {
    total,
    ...(longCells !== undefined && { longCells }),
    stream: continueWith(Buffer.concat(instead)),
  };
}
