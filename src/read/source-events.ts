import type { Clock } from '../base/clock.ts';
import type { Storage } from '../storage/storage.ts';
import { between, type EventEnvelope, envelopeSettings } from './envelope.ts';
import { type PageRequest, whereClause } from './filter.ts';
import type { PageReader } from './page.ts';
import { atOnce, readSliced, textSlice, type Turn } from './page-slices.ts';
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
  turn: Turn = atOnce,
): PageReader {
  return async (organization, { filter, limit, offset }: PageRequest, signal) => {
    const where = whereClause(organization, filter);
    const columns = `ocsf, concat(source, ',"seq":"', toString(seq), '"')`;
    const query =
      `SELECT ${columns} FROM events WHERE ${where.sql} ${newestFirst} ` +
      'LIMIT {limit:UInt64} OFFSET {offset:UInt64} FORMAT CustomSeparated';
    const texts = {
      ...envelopeSettings({ before: '', rowBefore: `{"event":${envelope.head}`, rowAfter: '}', after: '' }),
      format_custom_field_delimiter: `"logged_time":${clock()}${envelope.tail},"source":`,
    };
    const plan = planOf(filter);
    const before = '{"data":[';
    const after = `],"meta":{"limit":${limit},"offset":${offset}}}`;
    const parameters = { ...where.parameters, limit, offset };
    const options = { settings: { ...texts, ...plan }, signal };
    const whole = await readEnveloped(storage, query, parameters, options, () => ({
      skip: 0,
      before,
      after,
    }));
    if (whole !== undefined) return whole;
    const page = {
      organization,
      where: where.sql,
      parameters,
      options: { settings: plan, signal },
      start: { scalars: '', condition: '1', skip: '{offset:UInt64}', total: '0' },
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
