import { formatMicros } from '../base/timestamp.ts';
import { limits } from '../base/limits.ts';
import type { Storage } from '../storage/storage.ts';
import { type Moment, momentKey, readAtMoments } from './moments.ts';
import { sideBySide } from './side-by-side.ts';

/** Whose receipts: an event is the user's by either. Both in lower case, as the columns are. */
export interface ReceiptOwner {
  readonly id: string;
  readonly email: string;
}

export type ReceiptKind = 'upload' | 'download' | 'stream';
export type ReceiptStatus = 'started' | 'completed' | 'failed';

/** One transfer of a user (contract: Read, receipts). What the events do not say is undefined. */
export interface Receipt {
  readonly flowId: string | undefined;
  readonly kind: ReceiptKind;
  readonly fileName: string | undefined;
  /** Bytes, as the digits that the engine read. */
  readonly fileSize: string | undefined;
  readonly destination: string | undefined;
  readonly status: ReceiptStatus;
  /** RFC 3339, UTC, six fraction digits. */
  readonly startedAt: string | undefined;
  readonly completedAt: string | undefined;
}

export interface ReceiptsPage {
  readonly receipts: readonly Receipt[];
  readonly total: number;
}

/** Rejects with EngineError. `organization` is a lower-case UUID. */
export type ReceiptsReader = (
  organization: string,
  owner: ReceiptOwner,
  page: { readonly limit: number; readonly offset: number },
  signal: AbortSignal,
) => Promise<ReceiptsPage>;

/**
 * The activities of a transfer. A failure that has a code of its own ends a transfer as a completion with a failed
 * result does; without it such a transfer would look as if it were still going on.
 */
const transfers: readonly { kind: ReceiptKind; start: number; completion: number; failure: number }[] = [
  { kind: 'upload', start: 2000, completion: 2001, failure: 2005 },
  { kind: 'download', start: 2002, completion: 2003, failure: 2006 },
  { kind: 'stream', start: 2020, completion: 2021, failure: 2022 },
];

const nilUuid = '00000000-0000-0000-0000-000000000000';
const starts = transfers.map(({ start }) => start).join(', ');
const failures = transfers.map(({ failure }) => failure).join(', ');
const codes = transfers.flatMap(({ start, completion, failure }) => [start, completion, failure]).join(', ');
const kindOfCode = `multiIf(${transfers
  .map(({ kind, ...of }) => `activity_id IN (${Object.values(of).join(', ')}), '${kind}'`)
  .join(', ')}, '')`;

const ofOwner = (condition: string): string => `
  SELECT flow_id, if(flow_id = toUUID('${nilUuid}'), seq, 0) AS alone, ${kindOfCode} AS kind, names[1] AS name,
    activity_id IN (${starts}) AS is_start, (time, seq) AS moment,
    result_code >= 400 OR activity_id IN (${failures}) AS failed
  FROM events WHERE org = {org:UUID} AND activity_id IN (${codes}) AND ${condition}`;

/**
 * The receipts of a user, from narrow columns alone. Only the user's own events are looked at, so a flow id that
 * another user's events carry too pairs nothing with them.
 *
 * A flow is one gesture, so its start and its completion of one kind are one receipt, however each names the file
 * (a start may know the target only). Where a flow has several starts or several completions of a kind and they name
 * different files, it moved several files, and each name is a receipt; a repeated start or completion of the same
 * file is a retry, and belongs to its receipt. Events without a flow stand alone.
 *
 *   events ── by flow, kind and name ──▶ pieces ── by flow and kind: kept apart, or made one ──▶ receipts
 *
 * A piece is (starts, completions, first start, last start and whether it failed, last completion and likewise).
 * Of retries the last one tells the outcome. A moment, (time, seq), is unique, so `at` is a total order.
 */
const receiptsQuery = `
SELECT flow_id, kind, piece.1 > 0 AS has_start, piece.2 > 0 AS has_completion,
  piece.3 AS start, piece.5.1 AS completion,
  (has_start AND piece.4.2) OR (has_completion AND piece.5.2) AS failed,
  if(has_start, start, completion) AS at
FROM (
  SELECT flow_id, kind, arrayJoin(if(
    countIf(name != '') > 1 AND (sum(starts) > 1 OR sum(completions) > 1),
    groupArray((starts, completions, first_start, last_start, last_completion)),
    [(sum(starts), sum(completions), minIf(first_start, starts > 0), maxIf(last_start, starts > 0),
      maxIf(last_completion, completions > 0))])) AS piece
  FROM (
    SELECT flow_id, alone, kind, name, countIf(is_start) AS starts, countIf(NOT is_start) AS completions,
      minIf(moment, is_start) AS first_start, maxIf((moment, failed), is_start) AS last_start,
      maxIf((moment, failed), NOT is_start) AS last_completion
    FROM (${ofOwner('actor_email = {email:String}')}
      UNION ALL ${ofOwner('actor_id = {id:String} AND actor_email != {email:String}')})
    GROUP BY flow_id, alone, kind, name
  )
  GROUP BY flow_id, alone, kind
)`;

/**
 * What a receipt shows beyond its columns, told by one event of it. The names come from the producer's text, since
 * the columns hold them in lower case. `fileSize` only where it is a number.
 */
const factColumns = `
  JSONExtractString(source, 'message', 'sender', 'file') AS file,
  if(JSONType(source, 'message', 'target') = 'String', JSONExtractString(source, 'message', 'target'),
    JSONExtractString(source, 'message', 'target', 'name')) AS target,
  JSONExtractString(source, 'message', 'extra', 'fileName') AS extra_file,
  JSONExtractString(source, 'message', 'extra', 'destination') AS destination,
  if(JSONType(source, 'message', 'extra', 'fileSize') IN ('Int64', 'UInt64', 'Double'),
    JSONExtractRaw(source, 'message', 'extra', 'fileSize'), '') AS size`;

interface Facts {
  readonly file: string;
  readonly target: string;
  readonly extra_file: string;
  readonly destination: string;
  readonly size: string;
}

interface ReceiptRow {
  readonly flow_id: string;
  readonly kind: ReceiptKind;
  readonly failed: number;
  readonly start_micros: string;
  readonly start_seq: string;
  readonly completion_micros: string;
  readonly completion_seq: string;
  readonly has_start: number;
  readonly has_completion: number;
}

/** Grouping a user's transfers spills to disk rather than growing with their number. */
const spilling = {
  max_bytes_before_external_group_by: limits.readSpillBytes,
  max_bytes_before_external_sort: limits.readSpillBytes,
};

/** Reads a user's own receipts, newest first by start, else by completion, with their exact number. */
export function createReceiptsReader(storage: Storage): ReceiptsReader {
  return (organization, { id, email }, { limit, offset }, signal) =>
    sideBySide(signal, async (stop) => {
      const parameters = { org: organization, id, email };
      const options = { settings: spilling, signal: stop };
      const [rows, counted] = await Promise.all([
        storage.rows<ReceiptRow>(
          `SELECT flow_id, kind, has_start, has_completion, failed,
             toUnixTimestamp64Micro(start.1) AS start_micros, start.2 AS start_seq,
             toUnixTimestamp64Micro(completion.1) AS completion_micros, completion.2 AS completion_seq
           FROM (${receiptsQuery} ORDER BY at DESC LIMIT {limit:UInt64} OFFSET {offset:UInt64})
           ORDER BY at DESC`,
          { ...parameters, limit, offset },
          options,
        ),
        storage.rows<{ total: string }>(
          `SELECT count() AS total FROM (${receiptsQuery})`,
          parameters,
          options,
        ),
      ]);
      const moments = rows.flatMap((row) => momentsOf(row));
      const facts = await readAtMoments<Facts>(storage, organization, moments, factColumns, stop);
      const total = agreedTotal(rows.length, limit, offset, Number(counted[0]?.total ?? 0));
      return { receipts: rows.map((row) => receiptOf(row, facts)), total };
    });
}

/** Rows and count may have seen different moments; a reader that pages by the total must neither stop early nor wait. */
function agreedTotal(rows: number, limit: number, offset: number, counted: number): number {
  if (rows === limit) return Math.max(counted, offset + rows);
  return rows > 0 || offset === 0 ? offset + rows : Math.min(counted, offset);
}

function startOf(row: ReceiptRow): Moment | undefined {
  return row.has_start ? { micros: row.start_micros, seq: row.start_seq } : undefined;
}

function completionOf(row: ReceiptRow): Moment | undefined {
  return row.has_completion ? { micros: row.completion_micros, seq: row.completion_seq } : undefined;
}

/** The events that tell about a receipt, the completion first: it knows what came of the start's intent. */
function momentsOf(row: ReceiptRow): Moment[] {
  return [completionOf(row), startOf(row)].filter((moment) => moment !== undefined);
}

function receiptOf(row: ReceiptRow, facts: ReadonlyMap<string, Facts>): Receipt {
  const told = momentsOf(row)
    .map((moment) => facts.get(momentKey(moment)))
    .filter((found) => found !== undefined);
  const first = (fact: keyof Facts): string | undefined =>
    told.map((found) => found[fact]).find((value) => value !== '');
  const target = first('target');
  const fileName = first('file') ?? target ?? first('extra_file');
  return {
    flowId: row.flow_id === nilUuid ? undefined : row.flow_id,
    kind: row.kind,
    fileName,
    fileSize: first('size'),
    // What a stream is aimed at is where it goes. Of a file, the target is the place only if it is not the file.
    destination: first('destination') ?? (row.kind === 'stream' || target !== fileName ? target : undefined),
    status: row.failed ? 'failed' : row.has_completion ? 'completed' : 'started',
    startedAt: timeText(startOf(row)),
    completedAt: timeText(completionOf(row)),
  };
}

function timeText(moment: Moment | undefined): string | undefined {
  return moment === undefined ? undefined : formatMicros(Number(moment.micros));
}
