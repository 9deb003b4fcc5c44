import { lastMember, sourceMessage, textIn } from './last-member.ts';
import { formatMicros } from '../base/time/timestamp.ts';
import type { Answer, Schemas } from '../contract/document.ts';
import { limits } from '../storage/limits.ts';
import type { Storage } from '../storage/storage.ts';
import { type Moment, momentKey, readAtMoments } from './moments.ts';
import { sideBySide } from './side-by-side.ts';

export interface Receipt {
  readonly members: Omit<Answer<'Receipt'>, 'file_size'>;
  /** `file_size` as digits: a number would not keep them all. */
  readonly sizeDigits: string | undefined;
}

export interface ReceiptsPage {
  readonly receipts: readonly Receipt[];
  readonly total: number;
}

/** Rejects with EngineError. `organization` is a lower-case UUID. */
export type ReceiptsReader = (
  organization: string,
  owner: { readonly id: string; readonly email: string },
  page: { readonly limit: number; readonly offset: number },
  signal: AbortSignal,
) => Promise<ReceiptsPage>;

/**
 * Activities of a transfer. A failure with a code of its own ends the transfer as a failed completion does.
 */
const transfers: readonly {
  kind: Schemas['Receipt']['kind'];
  start: number;
  completion: number;
  failure: number;
}[] = [
  { kind: 'upload', start: 2000, completion: 2001, failure: 2005 },
  { kind: 'download', start: 2002, completion: 2003, failure: 2006 },
  { kind: 'stream', start: 2020, completion: 2021, failure: 2022 },
];

const nilUuid = '00000000-0000-0000-0000-000000000000';
const starts = transfers.map(({ start }) => start).join(', ');
const failures = transfers.map(({ failure }) => failure).join(', ');
const codes = transfers.flatMap(({ start, completion, failure }) => [start, completion, failure]).join(', ');
const kindOfCode = `multiIf(${transfers
  .map(
    ({ start, completion, failure }, index) =>
      `activity_id IN (${start}, ${completion}, ${failure}), ${index}`,
  )
  .join(', ')}, ${transfers.length})::UInt8`;

/**
 * Position and outcome of an event in one number, as grouping by tuples takes ten times as long:
 *
 *     | time, microseconds | seq, 64 bits | failed, 1 bit |
 *
 * Larger is newer, 0 is absent, and no two are equal.
 */
const moment = `bitShiftLeft(toUInt128(toUnixTimestamp64Micro(time)), 65) + bitShiftLeft(toUInt128(seq), 1)
  + (result_code >= 400 OR activity_id IN (${failures}))`;
const microsOf = (moment: string): string => `bitShiftRight(${moment}, 65)::Int64`;
const seqOf = (moment: string): string => `bitAnd(bitShiftRight(${moment}, 1), 18446744073709551615)::UInt64`;

const ofOwner = (condition: string): string => `
  SELECT flow_id, ${kindOfCode} AS kind, activity_id IN (${starts}) AS is_start, ${moment} AS moment,
    multiIf(flow_id = toUUID('${nilUuid}'), seq, names[1] = '', 0, sipHash64(names[1])) AS part
  FROM events WHERE org = {org:UUID} AND activity_id IN (${codes})
    AND time >= fromUnixTimestamp64Micro({cut_off:Int64}, 'UTC') AND ${condition}`;

const transfersOfOwner = `${ofOwner('actor_email = {email:String}')}
  UNION ALL ${ofOwner('actor_id = {id:String} AND actor_email != {email:String}')}`;

/**
 * The receipts of a user, from narrow columns and the user's own events only.
 *
 * The start and completion of one kind in a flow are one receipt, whatever file names they have. If a flow
 * has several for different files, each file is a receipt; a repeated one for the same file is a retry.
 * Events without a flow stand alone.
 *
 *   split     flows of several files, by kind
 *   part      divides a flow and kind into receipts: the name if the flow is split, seq without a flow, else nothing
 *   started   the first start, last_start the last, completed the last completion; the last retry decides the outcome
 */
const receiptsQuery = `
SELECT flow_id, kind, if(flow_id = toUUID('${nilUuid}') OR (flow_id, kind) IN split, part, 0) AS receipt,
  minIf(moment, is_start) AS started, maxIf(moment, is_start) AS last_start, maxIf(moment, NOT is_start) AS completed
FROM (${transfersOfOwner})
GROUP BY flow_id, kind, receipt`;

const splitFlows = `
WITH split AS (
  SELECT flow_id, kind FROM (${transfersOfOwner})
  WHERE flow_id != toUUID('${nilUuid}')
  GROUP BY flow_id, kind
  HAVING minIf(part, part != 0) != maxIf(part, part != 0) AND (countIf(is_start) > 1 OR countIf(NOT is_start) > 1)
)`;

const rowsQuery = `${splitFlows}
SELECT flow_id, kind, started > 0 AS has_start, completed > 0 AS has_completion,
  bitAnd(bitOr(last_start, completed), 1)::UInt8 AS failed,
  ${microsOf('started')} AS start_micros, ${seqOf('started')} AS start_seq,
  ${microsOf('completed')} AS completion_micros, ${seqOf('completed')} AS completion_seq
FROM (${receiptsQuery})
ORDER BY if(has_start, started, completed) DESC
LIMIT {limit:UInt64} OFFSET {offset:UInt64}`;

const countQuery = `${splitFlows} SELECT count() AS total FROM (${receiptsQuery})`;

const extra = lastMember(sourceMessage, 'extra');

const textOfExtra = (name: string): string => textIn(lastMember(extra, name));

/** From one of the receipt's events. `fileSize` only if it is a number. */
const factColumns = `
  file_name AS file,
  target_name AS target,
  ${textOfExtra('fileName')} AS extra_file,
  ${textOfExtra('destination')} AS destination,
  if(match(${lastMember(extra, 'fileSize')}, '^[-0-9]'), ${lastMember(extra, 'fileSize')}, '') AS size`;

interface Facts {
  readonly file: string;
  readonly target: string;
  readonly extra_file: string;
  readonly destination: string;
  readonly size: string;
}

interface ReceiptRow {
  readonly flow_id: string;
  readonly kind: number;
  readonly failed: number;
  readonly start_micros: string;
  readonly start_seq: string;
  readonly completion_micros: string;
  readonly completion_seq: string;
  readonly has_start: number;
  readonly has_completion: number;
}

const spilling = {
  max_bytes_before_external_group_by: limits.readSpillBytes,
  max_bytes_before_external_sort: limits.readSpillBytes,
};

/**
 * Reads a user's own receipts, newest first by start, else by completion, with the exact total.
 * `retentionCutOff`: see `ReadersOptions`.
 */
export function createReceiptsReader(
  storage: Storage,
  retentionCutOff: (organization: string) => number | undefined,
): ReceiptsReader {
  return (organization, { id, email }, { limit, offset }, signal) =>
    sideBySide(signal, async (stop) => {
      const parameters = { org: organization, id, email, cut_off: retentionCutOff(organization) ?? 0 };
      const options = { settings: spilling, signal: stop };
      const rows = await storage.rows<ReceiptRow>(rowsQuery, { ...parameters, limit, offset }, options);
      const isLast = rows.length < limit && (rows.length > 0 || offset === 0);
      const [facts, counted] = await Promise.all([
        readAtMoments<Facts>(storage, organization, rows.flatMap(momentsOf), factColumns, stop),
        isLast ? [] : storage.rows<{ total: string }>(countQuery, parameters, options),
      ]);
      const total = agreedTotal(rows.length, offset, Number(counted[0]?.total ?? 0), isLast);
      return { receipts: rows.map((row) => makeReceipt(row, facts)), total };
    });
}

/**
 * Rows and count may be of different moments. A client that stops at `offset + data.length >= total` must neither stop early nor
 * loop, so a last page determines the total.
 */
function agreedTotal(rows: number, offset: number, counted: number, isLast: boolean): number {
  if (isLast) return offset + rows;
  return rows > 0 ? Math.max(counted, offset + rows) : Math.min(counted, offset);
}

function startMoment(row: ReceiptRow): Moment | undefined {
  return row.has_start ? { micros: row.start_micros, seq: row.start_seq } : undefined;
}

function completionMoment(row: ReceiptRow): Moment | undefined {
  return row.has_completion ? { micros: row.completion_micros, seq: row.completion_seq } : undefined;
}

/** The completion first, as it has the outcome. */
function momentsOf(row: ReceiptRow): Moment[] {
  return [completionMoment(row), startMoment(row)].filter((moment) => moment !== undefined);
}

function makeReceipt(row: ReceiptRow, facts: ReadonlyMap<string, Facts>): Receipt {
  const known = momentsOf(row)
    .map((moment) => facts.get(momentKey(moment)))
    .filter((found) => found !== undefined);
  const first = (fact: keyof Facts): string | undefined =>
    known.map((found) => found[fact]).find((value) => value !== '');
  const kind = transfers[row.kind]?.kind;
  if (kind === undefined) throw new Error(`Unknown kind of transfer: ${row.kind}`);
  const target = first('target');
  const fileName = first('file') ?? target ?? first('extra_file');
  const members = {
    flow_id: row.flow_id === nilUuid ? undefined : row.flow_id,
    kind,
    file_name: fileName,
    // The target of a stream is its destination; that of a file only if it is not the file's name.
    destination: first('destination') ?? (kind === 'stream' || target !== fileName ? target : undefined),
    status: row.failed ? 'failed' : row.has_completion ? 'completed' : 'started',
    started_at: timeText(startMoment(row)),
    completed_at: timeText(completionMoment(row)),
  } as const;
  return { members, sizeDigits: first('size') };
}

function timeText(moment: Moment | undefined): string | undefined {
  return moment === undefined ? undefined : formatMicros(Number(moment.micros));
}
