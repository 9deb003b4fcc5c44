import { Readable } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Storage } from '../storage/storage.ts';
import { findDeepStart } from './deep-offset.ts';
import { type AuditFilter, type PageRequest, type Where, whereClause } from './filter.ts';
import { type Framing, framingSettings, newestFirst } from './framing.ts';
import { planOf } from './plans.ts';
import { sideBySide } from './side-by-side.ts';

/** What every audit event begins and ends with; the engine writes it around the stored text. */
export interface EventFrame {
  readonly head: string;
  readonly tail: string;
}

/** A page of the audit endpoint: the whole body of the answer, framed by the engine. */
export interface Page {
  /** The bytes, when the page is small enough to be held until the engine has finished it. */
  readonly body: readonly Uint8Array[] | undefined;
  /** Otherwise the bytes as they come; an error in it means that the page must not end cleanly. */
  readonly stream: Readable | undefined;
}

export interface PageReader {
  /** Rejects with EngineError. `organization` is a lower-case UUID. */
  (organization: string, request: PageRequest, signal: AbortSignal): Promise<Page>;
}

/** Stands behind the stored text of the page's last possible row, where JSON allows a space: the page is full. */
const fullMark = 0x20;

/** What stands around each stored text and around all of them. */
function auditFraming(frame: EventFrame, nowMicros: number): Framing {
  return {
    before: '{"data":[',
    rowBefore: frame.head,
    rowAfter: `"logged_time":${nowMicros}${frame.tail}`,
    after: ']',
  };
}

/**
 * Reads pages of one organization with their exact total (contract: GET audit). Page and count run side by side; for
 * a deep offset the counts come first, since they tell where to begin.
 */
export function createPageReader(storage: Storage, frame: EventFrame, clock: Clock): PageReader {
  return async (organization, request, signal) => {
    const framing = auditFraming(frame, clock());
    return sideBySide(signal, async (stop) => {
      const { filter, offset } = request;
      const deep = await findDeepStart(storage, organization, filter, offset, stop);
      const first = { ...request, ...deep };
      const where = whereClause(organization, first.filter);
      const [stream, total] = await Promise.all([
        openPage(storage, framing, where, first, stop),
        deep?.total ?? countEvents(storage, where, filter, stop),
      ]);
      return drain(stream, request, total, framing.rowAfter);
    });
  };
}

async function countEvents(
  storage: Storage,
  where: Where,
  filter: AuditFilter,
  signal: AbortSignal,
): Promise<number> {
  const query = `SELECT count() AS total FROM events WHERE ${where.sql}`;
  const options = { signal, settings: planOf(filter) };
  const [row] = await storage.rows<{ total: string }>(query, where.parameters, options);
  return Number(row?.total ?? 0);
}

async function openPage(
  storage: Storage,
  framing: Framing,
  where: Where,
  { filter, limit, offset }: PageRequest,
  signal: AbortSignal,
): Promise<Readable> {
  const query =
    "SELECT ocsf, if(rowNumberInAllBlocks() + 1 = {limit:UInt64}, ' ', '') " +
    `FROM (SELECT ocsf FROM events WHERE ${where.sql} ${newestFirst} LIMIT {limit:UInt64} OFFSET {offset:UInt64}) ` +
    'FORMAT CustomSeparated';
  const settings = { ...framingSettings(framing), ...planOf(filter) };
  const result = await storage.stream(query, { ...where.parameters, limit, offset }, { settings, signal });
  return result.stream;
}

function endOfBody({ limit, offset }: PageRequest, total: number): Buffer {
  return Buffer.from(`,"meta":{"total":${total},"limit":${limit},"offset":${offset}}}`);
}

/**
 * The total, told apart from the count where the two queries saw different moments: events may arrive between them,
 * and a client that stops at `offset + data.length >= total` must neither stop early nor wait for what is not there.
 */
function agreedTotal(
  page: Buffer,
  { limit, offset }: PageRequest,
  counted: number,
  rowAfter: string,
): number {
  const end = Buffer.byteLength(rowAfter) + 1;
  if (page[page.length - end - 1] === fullMark) return Math.max(counted, offset + limit);
  const rows = countRows(page);
  return rows > 0 || offset === 0 ? offset + rows : Math.min(counted, offset);
}

function countRows(page: Buffer): number {
  if (page.length <= emptyPageBytes) return 0;
  let rows = 1;
  for (let at = page.indexOf(10); at !== -1; at = page.indexOf(10, at + 1)) rows += 1;
  return rows;
}

const emptyPageBytes = '{"data":[]'.length;

/** Holds the page until it is whole, so that a failure can still be answered; a very large one goes on as a stream. */
async function drain(
  stream: Readable,
  request: PageRequest,
  counted: number,
  rowAfter: string,
): Promise<Page> {
  const held: Uint8Array[] = [];
  let bytes = 0;
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    held.push(next.value);
    bytes += next.value.length;
    if (bytes > limits.pageBufferedBytesMax) {
      return {
        body: undefined,
        stream: Readable.from(rest(held, chunks, endOfBody(request, counted)), { objectMode: false }),
      };
    }
  }
  const page = Buffer.concat(held, bytes);
  return {
    body: [page, endOfBody(request, agreedTotal(page, request, counted, rowAfter))],
    stream: undefined,
  };
}

async function* rest(
  held: readonly Uint8Array[],
  chunks: AsyncIterator<Uint8Array>,
  end: Buffer,
): AsyncGenerator<Uint8Array> {
  try {
    yield* held;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
    yield end;
  } finally {
    await chunks.return?.();
  }
}
