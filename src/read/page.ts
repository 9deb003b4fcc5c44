import type { Readable } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Settings, Storage } from '../storage/storage.ts';
import { type PageRequest, type Where, whereClause } from './filter.ts';

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
  readonly stream: AsyncIterable<Uint8Array> | undefined;
}

export interface PageReader {
  /** Rejects with EngineError. `organization` is a lower-case UUID. */
  (organization: string, request: PageRequest, signal: AbortSignal): Promise<Page>;
}

/**
 * Settings that make `FORMAT CustomSeparated` write `before row row … after` with each row spliced together from
 * head, stored text and tail: no event is parsed or built by this process.
 */
function framing(frame: EventFrame, before: string, after: string, nowMicros: number): Settings {
  return {
    format_custom_escaping_rule: 'Raw',
    format_custom_field_delimiter: '',
    format_custom_row_before_delimiter: frame.head,
    format_custom_row_after_delimiter: `"logged_time":${nowMicros}${frame.tail}`,
    format_custom_row_between_delimiter: ',',
    format_custom_result_before_delimiter: before,
    format_custom_result_after_delimiter: after,
  };
}

/** Newest first, then last written first: a total order, since `seq` is unique. */
const newestFirst = 'ORDER BY org DESC, time DESC, seq DESC';

/** Reads pages of one organization with their exact total (contract: GET audit). Page and count run side by side. */
export function createPageReader(storage: Storage, frame: EventFrame, clock: Clock): PageReader {
  return async (organization, request, signal) => {
    const where = whereClause(organization, request.filter);
    const both = new AbortController();
    const stop = AbortSignal.any([signal, both.signal]);
    try {
      const total = countEvents(storage, where, stop);
      const page = openPage(storage, frame, where, request, clock(), stop);
      const [stream] = await Promise.all([page, total]);
      return await drain(stream, endOfBody(request, await total));
    } catch (error) {
      both.abort();
      throw error;
    }
  };
}

async function countEvents(storage: Storage, where: Where, signal: AbortSignal): Promise<number> {
  const query = `SELECT count() AS total FROM events WHERE ${where.sql}`;
  const [row] = await storage.rows<{ total: string }>(query, where.parameters, { signal });
  return Number(row?.total ?? 0);
}

async function openPage(
  storage: Storage,
  frame: EventFrame,
  where: Where,
  { limit, offset }: PageRequest,
  nowMicros: number,
  signal: AbortSignal,
): Promise<Readable> {
  const query =
    `SELECT ocsf FROM events WHERE ${where.sql} ${newestFirst} ` +
    'LIMIT {limit:UInt64} OFFSET {offset:UInt64} FORMAT CustomSeparated';
  const settings = { ...framing(frame, '{"data":[', ']', nowMicros), max_threads: 1 };
  const result = await storage.stream(query, { ...where.parameters, limit, offset }, { settings, signal });
  return result.stream;
}

function endOfBody({ limit, offset }: PageRequest, total: number): Buffer {
  return Buffer.from(`,"meta":{"total":${total},"limit":${limit},"offset":${offset}}}`);
}

/** Holds the page until it is whole, so that a failure can still be answered; a very large one goes on as a stream. */
async function drain(stream: Readable, end: Buffer): Promise<Page> {
  const held: Uint8Array[] = [];
  let bytes = 0;
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    held.push(next.value);
    bytes += next.value.length;
    if (bytes > limits.pageBufferedBytesMax) return { body: undefined, stream: rest(held, chunks, end) };
  }
  return { body: [...held, end], stream: undefined };
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
