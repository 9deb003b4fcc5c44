import type { Wanted } from '../lab/kept-data.ts';
import type { ReadData } from '../lab/read-data.ts';

/** A page of the service, with the bare engine's statements for the same rows and total. */
export interface ReadCase {
  readonly id: string;
  readonly title: string;
  /** Query string of the audit endpoint. */
  readonly query: string;
  readonly limit: number;
  readonly offset: number;
  /** The condition in SQL, without the organization. */
  readonly where: string;
  /** An index or a projection of row positions answers the condition. */
  readonly projected: boolean;
  /** Disjoint conditions that together match the same events, and that the table's counts answer: see `totalOf`. */
  readonly counted?: readonly string[];
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function page(id: string, title: string, query: string, where: string, offset = 0): ReadCase {
  return {
    id: `read.${id}`,
    title,
    query: `limit=1000${offset === 0 ? '' : `&offset=${offset}`}${query === '' ? '' : `&${query}`}`,
    limit: 1000,
    offset,
    where,
    projected: false,
    ...(where === '1' ? { counted: ['1'] } : {}),
  };
}

const anyOf = (column: string, value: string): string[] =>
  [1, 2].map((at) => `${column}[${at}] = ${quoted(value)}`);

/** By time alone. */
function plainCases(data: ReadData): ReadCase[] {
  const rows = data.rows();
  const deep = Math.floor(rows * 0.9);
  const [from, to] = [data.timeAt(0.05), data.timeAt(0.95)];
  const query = `startTime=${from}&endTime=${to}`;
  const where = `time >= parseDateTime64BestEffort('${from}', 6, 'UTC') AND time <= parseDateTime64BestEffort('${to}', 6, 'UTC')`;
  const far = Math.floor(rows * 0.8);
  return [
    page('page', 'first page of 1000 and the total', '', '1'),
    page('deep', `page at offset ${deep}`, '', '1', deep),
    page('range', 'first page of a time range', query, where),
    page('range-deep', 'page at 8/9 of a time range', query, where, far),
    { ...page('count', 'the total, with one event', '', '1'), query: 'limit=1', limit: 1 },
  ];
}

/** One filter with many, few and no matches, and the total of the many. */
function filterCases(parameter: string, wanted: Wanted, column: string): ReadCase[] {
  const several = column === 'names' || column === 'file_hash';
  const cases = (['frequent', 'rare', 'none'] as const).map((kind): ReadCase => {
    const value = wanted[kind];
    const query = `${parameter}=${encodeURIComponent(value)}`;
    const where = several ? `has(${column}, ${quoted(value)})` : `${column} = ${quoted(value)}`;
    const counted = several ? anyOf(column, value) : [where];
    const one = page(`${parameter}-${kind}`, `${parameter}, ${kind} matches`, query, where);
    return { ...one, projected: true, counted };
  });
  const totals = cases.slice(0, 1).map((one): ReadCase => {
    const title = `the total of a frequent ${parameter}, with one event`;
    return {
      ...one,
      id: `read.${parameter}-total`,
      title,
      query: one.query.replace('limit=1000', 'limit=1'),
      limit: 1,
    };
  });
  return [...cases, ...totals];
}

/** The frequent actor at depth, and with a file name. */
async function actorCases(data: ReadData): Promise<ReadCase[]> {
  const byActor = `actor_email = ${quoted(data.actor.frequent)}`;
  const actor = `actor=${encodeURIComponent(data.actor.frequent)}`;
  const deep = Math.floor((await data.matches(byActor)) * 0.9);
  const withName = (id: string, name: string): ReadCase => ({
    ...page(
      id,
      'actor and fileName',
      `${actor}&fileName=${encodeURIComponent(name)}`,
      `${byActor} AND has(names, ${quoted(name)})`,
    ),
    projected: true,
    counted: anyOf('names', name).map((one) => `${one} AND ${byActor}`),
  });
  return [
    {
      ...page('actor-deep', 'actor, frequent matches, at 9/10 of them', actor, byActor, deep),
      projected: true,
      counted: [byActor],
    },
    withName('actor-fileName', data.name.frequent),
    withName('actor-fileName-rare', data.name.rare),
  ];
}

/** First page, deep pages, each filter with many, few and no matches, two of them together, flows. */
export async function readCases(data: ReadData): Promise<ReadCase[]> {
  const ofFlow = (id: string, title: string, flow: string): ReadCase => ({
    ...page(id, title, `flowId=${flow}`, `flow_id = toUUID('${flow}')`),
    projected: true,
  });
  return [
    ...plainCases(data),
    ...filterCases('actor', data.actor, 'actor_email'),
    ...filterCases('fileName', data.name, 'names'),
    ...filterCases('userId', data.userId, 'actor_id'),
    ...filterCases('fileHash', data.hash, 'file_hash'),
    ...(await actorCases(data)),
    ofFlow('flow', 'the events of one flow', await data.flow()),
    ofFlow('flow-far', 'a flow of 120 events far apart', data.farFlow),
  ];
}
