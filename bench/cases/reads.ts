import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../lab/engine.ts';
import type { Lab } from '../lab/lab.ts';
import type { ReadData } from '../lab/read-data.ts';
import { sideBySide, sliceOf } from '../lab/side-by-side.ts';
import type { Job } from '../load/job.ts';
import { quantilesMs } from '../stats/histogram.ts';
import type { CaseResult } from '../stats/result.ts';

/** A page asked of the service, and what the bare engine is asked for the same rows and the same total. */
export interface ReadCase {
  readonly id: string;
  readonly title: string;
  /** Query string of the audit endpoint. */
  readonly query: string;
  readonly limit: number;
  readonly offset: number;
  /** The condition in SQL, beside the organization. */
  readonly where: string;
  /** A projection of row positions answers the condition. */
  readonly projected: boolean;
}

/** The texts around each event, as the service has the engine write them. */
const framing: Settings = {
  format_custom_escaping_rule: 'Raw',
  format_custom_field_delimiter: '',
  format_custom_row_before_delimiter:
    '{"category_name":"Audit","category_uid":3,"class_name":"Application Activity","class_uid":3001,"type_uid":300101,',
  format_custom_row_after_delimiter:
    '"logged_time":1700000000000000,"product":{"name":"Audit Log Service","vendor_name":"Audit Log Service"},"version":"1.1.0"}}',
  format_custom_row_between_delimiter: ',\n',
  format_custom_result_before_delimiter: '{"data":[',
  format_custom_result_after_delimiter: ']',
};

/** For filters: without it the engine leaves projections of row positions unused on tables below a million rows. */
const byProjection: Settings = { min_table_rows_to_use_projection_index: 0 };

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** First page, deep pages, and each filter with many, few and no matches. */
export async function readCases(data: ReadData): Promise<ReadCase[]> {
  const rows = data.rows();
  const page = (id: string, title: string, query: string, where: string, offset = 0): ReadCase => ({
    id: `read.${id}`,
    title,
    query: `limit=1000${offset === 0 ? '' : `&offset=${offset}`}${query === '' ? '' : `&${query}`}`,
    limit: 1000,
    offset,
    where,
    projected: false,
  });
  const deep = Math.floor(rows * 0.9);
  const [from, to] = [data.timeAt(0.05), data.timeAt(0.95)];
  const inRange = `time >= parseDateTime64BestEffort('${from}', 6, 'UTC') AND time <= parseDateTime64BestEffort('${to}', 6, 'UTC')`;
  const cases = [
    page('page', 'first page of 1000 and the total', '', '1'),
    page('deep', `page at offset ${deep}`, '', '1', deep),
    page('range', 'first page of a time range', `startTime=${from}&endTime=${to}`, inRange),
    page(
      'range-deep',
      'page at 8/9 of a time range',
      `startTime=${from}&endTime=${to}`,
      inRange,
      Math.floor(rows * 0.8),
    ),
  ];
  const filters = [
    ['actor', data.actor, (v: string) => `actor_email = ${quoted(v)}`, true],
    ['fileName', data.name, (v: string) => `has(names, ${quoted(v)})`, false],
    ['userId', data.userId, (v: string) => `actor_id = ${quoted(v)}`, true],
    ['fileHash', data.hash, (v: string) => `has(file_hash, ${quoted(v)})`, false],
  ] as const;
  for (const [parameter, wanted, where, projected] of filters) {
    for (const kind of ['frequent', 'rare', 'none'] as const) {
      const value = wanted[kind];
      const query = `${parameter}=${encodeURIComponent(value)}`;
      cases.push({
        ...page(`${parameter}-${kind}`, `${parameter}, ${kind} matches`, query, where(value)),
        projected,
      });
    }
  }
  const byActor = `actor_email = ${quoted(data.actor.frequent)}`;
  const deepOfActor = Math.floor((await data.matches(byActor)) * 0.9);
  const actor = `actor=${encodeURIComponent(data.actor.frequent)}`;
  cases.push({
    ...page('actor-deep', 'actor, frequent matches, at 9/10 of them', actor, byActor, deepOfActor),
    projected: true,
  });
  const flow = await data.flow();
  cases.push({
    ...page('flow', 'the events of one flow', `flowId=${flow}`, `flow_id = toUUID('${flow}')`),
    projected: true,
  });
  cases.push({ ...page('count', 'the total, with one event', '', '1'), query: 'limit=1', limit: 1 });
  return cases;
}

/** Requests of one query of the audit endpoint. */
export function serviceJob(lab: Lab, key: string, query: string, clients: number, seconds: number): Job {
  const { host, port } = lab.service;
  const head = `GET /api/v1/audit?${query} HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\n`;
  return {
    targets: [{ host, port }],
    heads: [head],
    steps: [[{ target: 0, head: 0 }]],
    clients,
    stop: { seconds },
    status: 200,
  };
}

/** Page and count as the engine is asked for them, with their settings. */
function statements(lab: Lab, org: string, read: ReadCase): readonly (readonly [sql: string, Settings])[] {
  const from = `FROM ${lab.database}.events WHERE org = toUUID('${org}') AND ${read.where}`;
  const page =
    `SELECT ocsf FROM (SELECT ocsf ${from} ORDER BY org DESC, time DESC, seq DESC LIMIT ${read.limit} ` +
    `OFFSET ${read.offset}) FORMAT CustomSeparated`;
  const plan = read.projected ? byProjection : {};
  return [
    [page, { ...framing, ...plan, max_threads: 1 }],
    [`SELECT count() ${from}`, plan],
  ];
}

/** Both at the same time, as the service asks for them, on two connections a client. */
function engineJob(lab: Lab, org: string, read: ReadCase, clients: number, seconds: number): Job {
  const { hostname, port } = new URL(lab.engine.access.url);
  const heads = statements(lab, org, read).map(([sql, settings]) => lab.engine.head(sql, settings));
  return {
    targets: [{ host: hostname, port: Number(port) }],
    heads,
    steps: [heads.map((_, head) => ({ target: 0, head }))],
    clients,
    stop: { seconds },
    status: 200,
  };
}

export interface ReadPlan {
  readonly clients: number;
  /** Of each side. */
  readonly seconds: number;
  readonly rounds: number;
}

const warmUpSeconds = 1.5;

/** One read beside the bare engine; the service's latency is told in words too. */
export async function benchRead(
  lab: Lab,
  data: ReadData,
  read: ReadCase,
  plan: ReadPlan,
): Promise<CaseResult> {
  const { clients, seconds, rounds } = plan;
  const own = serviceJob(lab, data.key, read.query, clients, seconds / rounds);
  const bare = engineJob(lab, data.id, read, clients, seconds / rounds);
  // So that neither pays for a cold cache, nor the service for code that is not compiled yet.
  await lab.generator.run({ ...own, stop: { seconds: warmUpSeconds } });
  await lab.generator.run({ ...bare, stop: { seconds: warmUpSeconds / 3 } });
  const measured = await sideBySide(lab, {
    id: read.id,
    title: `${read.title}, ${clients} clients`,
    unit: 'pages',
    rounds,
    service: async () => sliceOf(await lab.generator.run(own)),
    reference: { name: 'page and count as SQL', run: async () => sliceOf(await lab.generator.run(bare)) },
  });
  const [p50, p99] = quantilesMs(measured.service.latency ?? [], [0.5, 0.99]);
  const [b50, b99] = quantilesMs(measured.reference?.side.latency ?? [], [0.5, 0.99]);
  return {
    ...measured,
    notes: [
      `p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms; bare engine ${b50?.toFixed(1)} and ${b99?.toFixed(1)} ms`,
    ],
  };
}

/** The first page beside the plainest pass-through of the same bytes in Node: what the service itself costs. */
export async function benchPassThrough(lab: Lab, data: ReadData, plan: ReadPlan): Promise<CaseResult> {
  const read = (await readCases(data)).find(({ id }) => id === 'read.page');
  if (read === undefined) throw new Error('there is no page to read');
  const { clients, seconds, rounds } = plan;
  const own = serviceJob(lab, data.key, read.query, clients, seconds / rounds);
  const orders = {
    url: lab.engine.access.url,
    headers: lab.engine.headers,
    paths: statements(lab, data.id, read).map(([sql, settings]) => lab.engine.path(sql, settings)),
  };
  const program = fileURLToPath(new URL('../load/plain-proxy.js', import.meta.url));
  const proxy = spawn(process.execPath, [program, JSON.stringify(orders)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(proxy.stdout, 'data')) as [Buffer];
    const plain: Job = {
      ...own,
      targets: [{ host: '127.0.0.1', port: Number(line.toString()) }],
      heads: ['GET / HTTP/1.1\r\nHost: bench\r\n'],
    };
    for (const job of [own, plain]) await lab.generator.run({ ...job, stop: { seconds: warmUpSeconds } });
    const measured = await sideBySide(lab, {
      id: 'read.pass-through',
      title: `${read.title}, ${clients} clients`,
      unit: 'pages',
      rounds,
      service: async () => sliceOf(await lab.generator.run(own)),
      reference: {
        name: 'a plain pass-through',
        run: async () => sliceOf(await lab.generator.run(plain)),
        pid: proxy.pid ?? 0,
      },
    });
    const [mine, its] = [measured.service.serviceMicros, measured.reference?.side.serviceMicros];
    const note = `processor time of a page: service ${mine?.toFixed(0) ?? '–'} µs, a plain pass-through ${its?.toFixed(0) ?? '–'} µs`;
    return { ...measured, notes: [note] };
  } finally {
    proxy.stdin.end();
  }
}
