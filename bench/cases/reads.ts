import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../lab/engine.ts';
import type { Lab } from '../lab/lab.ts';
import type { ReadData } from '../lab/read-data.ts';
import { bestStatements } from './best-sql.ts';
import { type ReadCase, readCases } from './read-cases.ts';
import { sideBySide, sliceOf } from '../lab/side-by-side.ts';
import type { Job } from '../load/job.ts';
import { quantilesMs } from '../stats/histogram.ts';
import type { CaseResult } from '../stats/result.ts';

/** The text around each event, as the service requests it from the engine. */
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

/** The first page and its count, in plain SQL. */
function statements(lab: Lab, org: string, read: ReadCase): readonly (readonly [sql: string, Settings])[] {
  const from = `FROM ${lab.database}.events WHERE org = toUUID('${org}') AND ${read.where}`;
  const page =
    `SELECT ocsf FROM (SELECT ocsf ${from} ORDER BY org DESC, time DESC, seq DESC LIMIT ${read.limit} ` +
    `OFFSET ${read.offset}) FORMAT CustomSeparated`;
  return [
    [page, { ...framing, max_threads: 1 }],
    [`SELECT count() ${from}`, {}],
  ];
}

/** Both at the same time, on two connections per client. */
async function engineJob(
  lab: Lab,
  org: string,
  read: ReadCase,
  clients: number,
  seconds: number,
): Promise<Job> {
  const { hostname, port } = new URL(lab.engine.access.url);
  const best = await bestStatements(lab, org, read, framing);
  const heads = best.map(([sql, settings]) => lab.engine.head(sql, settings));
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
  /** Number of slices of each side. */
  readonly seconds: number;
  readonly rounds: number;
}

const warmUpSeconds = 1.5;

/** Measures one read beside the bare engine; a note has the service's latency. */
export async function benchRead(
  lab: Lab,
  data: ReadData,
  read: ReadCase,
  plan: ReadPlan,
): Promise<CaseResult> {
  const { clients, seconds, rounds } = plan;
  const own = serviceJob(lab, data.key, read.query, clients, seconds / rounds);
  const bare = await engineJob(lab, data.id, read, clients, seconds / rounds);
  // Warms the caches of both sides and compiles the service's code.
  await lab.generator.run({ ...own, stop: { seconds: warmUpSeconds } });
  await lab.generator.run({ ...bare, stop: { seconds: warmUpSeconds / 3 } });
  const measured = await sideBySide(lab, {
    id: read.id,
    title: `${read.title}, ${clients} clients`,
    unit: 'pages',
    rounds,
    service: async () => sliceOf(await lab.generator.run(own)),
    reference: {
      name: 'the best SQL for page and count',
      run: async () => sliceOf(await lab.generator.run(bare)),
    },
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

/** Compares the first page with a plain pass-through of the same bytes in Node, which shows the service's own cost. */
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
