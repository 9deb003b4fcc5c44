import type { Clock } from '../base/time/clock.ts';
import { onShard } from '../storage/cluster.ts';
import type { Storage } from '../storage/storage.ts';
import { between, type EventEnvelope, envelopeSettings } from './envelope.ts';
import type { PageRequest } from './filter.ts';
import { locatePage, readSlices } from './page-place.ts';
import { atOnce, readSliced, textSlice, type Turn } from './page-slices.ts';
import { newestFirst } from './plans.ts';
import { type ReadBody, readEnveloped } from './read-body.ts';

/**
 * Reads audit events, each with its source event and order number, in the order of the audit endpoint: stored
 * texts, framed by the engine. Rejects with EngineError.
 *
 *     {"event": head ocsf logged_time tail ,"source": source ,"seq":" seq "}
 */
export type SourceEventsReader = (
  organization: string,
  request: PageRequest,
  signal: AbortSignal,
) => Promise<ReadBody>;

export function createSourceEventsReader(
  storage: Storage,
  envelope: EventEnvelope,
  clock: Clock,
  turn: Turn = atOnce,
): SourceEventsReader {
  return async (organization, request, signal) => {
    const { limit, offset } = request;
    const place = await locatePage(storage, organization, request, signal);
    const { scalars, condition, skip } = place.start;
    const columns = `ocsf, concat(source, ',"seq":"', toString(seq), '"') AS source_and_seq`;
    const rows =
      `${scalars} SELECT ${columns} FROM events WHERE ${place.where.sql} AND ${condition} ${newestFirst} ` +
      `LIMIT {limit:UInt64} OFFSET ${skip}`;
    const query = `${onShard(storage, rows)} FORMAT CustomSeparated`;
    const texts = {
      ...envelopeSettings({ before: '', rowBefore: `{"event":${envelope.head}`, rowAfter: '}', after: '' }),
      format_custom_field_delimiter: `"logged_time":${clock()}${envelope.tail},"source":`,
    };
    const before = '{"data":[';
    const { searchedBackTo } = place;
    const searched = searchedBackTo === undefined ? '' : `,"searched_back_to":"${searchedBackTo}"`;
    const after = `],"meta":{"limit":${limit},"offset":${offset}${searched}}}\n`;
    const options = { settings: { ...texts, ...place.settings }, signal };
    const around = () => ({ skip: 0, before, after });
    const whole = await readEnveloped(storage, query, place.parameters, options, around);
    if (whole !== undefined) return whole;
    const page = {
      ...readSlices(organization, place, signal),
      columns,
      bytes: 'length(ocsf) + length(source)',
      format: 'CustomSeparated',
      settings: texts,
      around: () => ({ before, between, after }),
      render: textSlice,
    };
    return { flow: await readSliced(storage, page, turn) };
  };
}
