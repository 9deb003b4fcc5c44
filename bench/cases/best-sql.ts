import type { Settings } from '../lab/engine.ts';
import type { Lab } from '../lab/lab.ts';
import type { ReadCase } from './read-cases.ts';

/** The total from the table's counts, if it keeps them; each event meets at most one of the conditions. */
function totalOf(from: string, { counted, where }: ReadCase): string {
  if (counted === undefined) return `SELECT count() ${from} AND ${where}`;
  const seconds = where === '1' ? 600 : 3600;
  const each = counted.map(
    (condition) =>
      `SELECT count() AS held ${from} AND ${condition} ` +
      `GROUP BY org, intDiv(toUnixTimestamp64Micro(time), ${seconds * 1_000_000})`,
  );
  return `SELECT sum(held) FROM (${each.join(' UNION ALL ')})`;
}

/**
 * The quickest statements that are known for a page and its total, written by hand: they have no page to find, as they
 * know between which times its events lie. That is looked up once, before anything is measured.
 */
export async function bestStatements(
  lab: Lab,
  org: string,
  read: ReadCase,
  framing: Settings,
): Promise<readonly (readonly [sql: string, Settings])[]> {
  const from = `FROM ${lab.database}.events WHERE org = toUUID('${org}')`;
  const order = 'ORDER BY org DESC, time DESC, seq DESC';
  const edges = await lab.engine.query(
    `SELECT toUnixTimestamp64Micro(min(time)), toUnixTimestamp64Micro(max(time)), count() FROM
     (SELECT time ${from} AND ${read.where} ${order} LIMIT ${read.limit} OFFSET ${read.offset}) FORMAT TSVRaw`,
    { max_threads: 1, min_table_rows_to_use_projection_index: 0 },
  );
  const [oldest = '0', newest = '0', rows] = edges.trim().split('\t');
  const moment = (micros: string): string => `fromUnixTimestamp64Micro(${micros}, 'UTC')`;
  const between = rows === '0' ? '1' : `time >= ${moment(oldest)} AND time <= ${moment(newest)}`;
  const page =
    `SELECT ocsf FROM (SELECT ocsf ${from} AND ${read.where} AND ${between} ${order} LIMIT ${read.limit}` +
    `${rows === '0' ? ` OFFSET ${read.offset}` : ''}) FORMAT CustomSeparated`;
  // Without it the engine leaves projections of row positions unused on tables below a million rows.
  const projections: Settings = read.projected
    ? { min_table_rows_to_use_projection_index: 0, max_projection_rows_to_use_projection_index: 20_000 }
    : { optimize_use_projection_filtering: 0 };
  return [
    [page, { ...framing, ...projections, max_threads: 1 }],
    [totalOf(from, read), { max_threads: 1 }],
  ];
}
