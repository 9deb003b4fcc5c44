import type { Clock } from '../base/clock.ts';
import type { Storage } from '../storage/storage.ts';
import { type EventEnvelope, envelopeSettings } from './envelope.ts';
import { type PageRequest, whereClause } from './filter.ts';
import type { PageReader } from './page.ts';
import { newestFirst, planOf } from './plans.ts';
import { readEnveloped } from './read-body.ts';

/**
 * Reads audit events each with the source event that it was made of and its order number, in the order of the audit endpoint: the texts of
 * both as they are stored, framed by the engine. Rejects with EngineError.
 *
 *     {"event": head ocsf logged_time tail ,"source": source ,"seq":" seq "}
 */
export function createSourceEventsReader(
  storage: Storage,
  envelope: EventEnvelope,
  clock: Clock,
): PageReader {
  return (organization, { filter, limit, offset }: PageRequest, signal) => {
    const where = whereClause(organization, filter);
    const query =
      `SELECT ocsf, concat(source, ',"seq":"', toString(seq), '"') FROM events WHERE ${where.sql} ${newestFirst} ` +
      'LIMIT {limit:UInt64} OFFSET {offset:UInt64} FORMAT CustomSeparated';
    const settings = {
      ...envelopeSettings({ before: '', rowBefore: `{"event":${envelope.head}`, rowAfter: '}', after: ']' }),
      format_custom_field_delimiter: `"logged_time":${clock()}${envelope.tail},"source":`,
      ...planOf(filter),
    };
    const after = `,"meta":{"limit":${limit},"offset":${offset}}}`;
    const around = () => ({ skip: 0, before: '{"data":[', after });
    const parameters = { ...where.parameters, limit, offset };
    const options = { settings, signal };
    return readEnveloped(storage, query, parameters, options, { ofWhole: around, ofStart: around });
  };
}
