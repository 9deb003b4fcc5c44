import type { ByteFlow } from '../base/bytes/byte-flow.ts';
import type { Storage } from '../storage/storage.ts';
import { type AuditFilter, readLimit, readOffset, readTimeRange, whereClause } from './filter.ts';
import { envelopeSettings } from './envelope.ts';
import type { QueryParameters } from './parameters.ts';
import { newestFirst, streamSettings } from './plans.ts';

export interface LegacyRequest {
  readonly filter: AuditFilter;
  readonly limit: number | undefined;
  readonly offset: number;
}

/**
 * Rejects with EngineError before the first byte; a later failure is an `error` of the stream, never a clean end. `organization`
 * is a lower-case UUID.
 */
export type LegacyReader = (
  organization: string,
  request: LegacyRequest,
  signal: AbortSignal,
) => Promise<ByteFlow>;

/**
 * Reads query parameters leniently (contract: Read, get-events-in-org). An invalid limit means all, and a
 * large one is not capped.
 */
export function readLegacyRequest(parameters: QueryParameters): LegacyRequest {
  return {
    filter: readTimeRange(parameters),
    limit: readLimit(parameters, undefined, Number.MAX_SAFE_INTEGER),
    offset: readOffset(parameters),
  };
}

const delimiters = envelopeSettings({ before: '{"data":[', rowBefore: '', rowAfter: '', after: ']}\n' });

/** Newest first, from one snapshot. The reader sets the pace, so only silence of the engine is limited. */
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
