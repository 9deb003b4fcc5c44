import type { ByteFlow } from '../base/bytes/byte-flow.ts';
import type { Storage } from '../storage/storage.ts';
import { type AuditFilter, readLimit, readOffset, readTimeRange, whereClause } from './filter.ts';
import { envelopeSettings } from './envelope.ts';
import type { QueryParameters } from './parameters.ts';
import { newestFirst, streamSettings } from './plans.ts';

/** Which source events of an organization are asked for; without a limit, all of them. */
export interface LegacyRequest {
  readonly filter: AuditFilter;
  readonly limit: number | undefined;
  readonly offset: number;
}

/**
 * `{"data":[…]}` and a line break as a stream of bytes. Rejects with EngineError while nothing has been sent; a failure after that is
 * an `error` of the stream, never a clean end. `organization` is a lower-case UUID.
 */
export type LegacyReader = (
  organization: string,
  request: LegacyRequest,
  signal: AbortSignal,
) => Promise<ByteFlow>;

/**
 * The request that query parameters describe (contract: Read, get-events-in-org). They are read as leniently as those
 * of the audit endpoint, with one difference: the answer is the whole log unless a limit is given, so an invalid
 * limit means all, and a large one is not cut down to a page.
 */
export function readLegacyRequest(parameters: QueryParameters): LegacyRequest {
  return {
    filter: readTimeRange(parameters),
    limit: readLimit(parameters, undefined, Number.MAX_SAFE_INTEGER),
    offset: readOffset(parameters),
  };
}

const delimiters = envelopeSettings({ before: '{"data":[', rowBefore: '', rowAfter: '', after: ']}\n' });

/**
 * Streams events as their producers sent them, newest first: the stored text of each goes out as it is. One query,
 * so one snapshot. It has no time limit of its own, because its reader sets the pace; only silence of the engine
 * while the reader waits counts.
 */
export function createLegacyReader(storage: Storage): LegacyReader {
  return async (organization, { filter, limit, offset }, signal) => {
    const where = whereClause(organization, filter);
    const rows = limit === undefined ? '' : 'LIMIT {limit:UInt64} ';
    const query =
      `SELECT source FROM events WHERE ${where.sql} ${newestFirst} ` +
      `${rows}OFFSET {offset:UInt64} FORMAT CustomSeparated`;
    const parameters = { ...where.parameters, offset, ...(limit === undefined ? {} : { limit }) };
    const settings = { ...delimiters, ...streamSettings };
    return storage.flow(query, parameters, { settings, signal });
  };
}
