import type { Lab } from '../lab/lab.ts';
import type { ReadData } from '../lab/read-data.ts';
import { sideBySide, type Slice, sliceOf } from '../lab/side-by-side.ts';
import type { Job } from '../load/job.ts';
import { quantilesMs } from '../stats/histogram.ts';
import type { CaseResult } from '../stats/result.ts';

/** The reason why a case was not measured; the run continues. */
export class Unavailable extends Error {}

async function mustExist(lab: Lab, key: string, path: string): Promise<void> {
  const answer = await fetch(`${lab.service.url}${path}`, { headers: { 'X-API-Key': key } });
  await answer.body?.cancel();
  if (answer.status === 404) throw new Unavailable(`this build has no ${path.split('?')[0]}`);
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
}

/** An export of everything, by as many readers as there are clients, beside the engine streaming the same bytes. */
export async function benchExport(
  lab: Lab,
  data: ReadData,
  format: 'ndjson' | 'csv',
  rounds: number,
): Promise<CaseResult> {
  const path = `/api/v1/audit/export?format=${format}`;
  await mustExist(lab, data.key, `${path}&flowId=00000000-0000-4000-8000-000000000000`);
  const { host, port } = lab.service;
  const { hostname, port: enginePort } = new URL(lab.engine.access.url);
  const own: Job = {
    targets: [{ host, port }],
    heads: [`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${data.key}\r\n`],
    steps: [[{ target: 0, head: 0 }]],
    clients: 1,
    stop: { steps: 1 },
    status: 200,
  };
  const sql =
    `SELECT ocsf FROM ${lab.database}.events WHERE org = toUUID('${data.id}') ` +
    'ORDER BY org DESC, time DESC, seq DESC FORMAT CustomSeparated';
  const head = lab.engine.head(sql, {
    format_custom_escaping_rule: 'Raw',
    format_custom_row_before_delimiter:
      '{"category_name":"Audit","category_uid":3,"class_name":"Application Activity","class_uid":3001,"type_uid":300101,',
    format_custom_row_after_delimiter:
      '"logged_time":1700000000000000,"product":{"name":"Audit Log Service","vendor_name":"Audit Log Service"},"version":"1.1.0"}}\n',
    max_threads: 1,
    max_block_size: 1024,
    output_format_parallel_formatting: 0,
  });
  const bare: Job = { ...own, targets: [{ host: hostname, port: Number(enginePort) }], heads: [head] };
  const rows = data.rows();
  let bytes = 0;
  const slice = async (job: Job): Promise<Slice> => {
    const result = await lab.generator.run(job);
    bytes = result.bytesReceived / ((result.endedMs - result.startedMs) / 1000);
    return sliceOf(result, rows);
  };
  let ownBytes = 0;
  const measured = await sideBySide(lab, {
    id: `export.${format}`,
    title: `export of ${rows} events as ${format}`,
    unit: 'events',
    rounds,
    service: async () => {
      const done = await slice(own);
      ownBytes = bytes;
      return done;
    },
    reference: { name: 'the same events as NDJSON by SQL', run: () => slice(bare) },
  });
  return {
    ...measured,
    notes: [`${Math.round(ownBytes / 1e6)} MB/s; bare engine ${Math.round(bytes / 1e6)} MB/s`],
  };
}

interface FeedPage {
  readonly data: readonly unknown[];
  readonly meta: { readonly next_cursor: string; readonly has_more: boolean };
}

/** Measures the feed's first page under load, and polls without new events. */
export async function benchFeed(
  lab: Lab,
  data: ReadData,
  plan: { readonly clients: number; readonly seconds: number; readonly rounds: number },
): Promise<CaseResult[]> {
  const path = '/api/v1/audit/feed';
  await mustExist(lab, data.key, `${path}?limit=1`);
  const { host, port } = lab.service;
  const job = (query: string): Job => ({
    targets: [{ host, port }],
    heads: [`GET ${path}?${query} HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${data.key}\r\n`],
    steps: [[{ target: 0, head: 0 }]],
    clients: plan.clients,
    stop: { seconds: plan.seconds / plan.rounds },
    status: 200,
  });
  const walked = await walkFeed(data.key, `${lab.service.url}${path}`);
  const results: CaseResult[] = [];
  const jobs = [
    ['feed.page', 'first page of 1000 of the feed', job('limit=1000')],
    [
      'feed.idle',
      'poll of the feed with nothing new',
      job(`limit=1000&cursor=${encodeURIComponent(walked.cursor)}`),
    ],
  ] as const;
  for (const [id, title, load] of jobs) {
    const measured = await sideBySide(lab, {
      id,
      title: `${title}, ${plan.clients} clients`,
      unit: 'pages',
      rounds: plan.rounds,
      service: async () => sliceOf(await lab.generator.run(load)),
    });
    const [p50, p99] = quantilesMs(measured.service.latency ?? [], [0.5, 0.99]);
    const note = `p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms`;
    const follower = `a follower alone reads ${Math.round(walked.eventsPerSecond)} events/s`;
    results.push({ ...measured, notes: id === 'feed.page' ? [note, follower] : [note] });
  }
  return results;
}

/** Follows the feed to its end, one page after the other. */
async function walkFeed(key: string, url: string): Promise<{ cursor: string; eventsPerSecond: number }> {
  const walkMsMax = 20_000;
  const began = performance.now();
  let cursor = '';
  let events = 0;
  let seconds = 0;
  // After the time limit, skips the rest and continues from a later position.
  let query = 'limit=1000';
  for (;;) {
    const answer = await fetch(`${url}?${query}`, { headers: { 'X-API-Key': key } });
    if (!answer.ok) throw new Error(`the feed answers ${answer.status}`);
    const { data, meta } = (await answer.json()) as FeedPage;
    events += data.length;
    seconds = (performance.now() - began) / 1000;
    cursor = meta.next_cursor;
    if (!meta.has_more) return { cursor, eventsPerSecond: events / seconds };
    if (seconds * 1000 > walkMsMax) break;
    query = `limit=1000&cursor=${encodeURIComponent(cursor)}`;
  }
  const late = await fetch(`${url}?limit=1000&startTime=${new Date(Date.now() + 86_400_000).toISOString()}`, {
    headers: { 'X-API-Key': key },
  });
  const { meta } = (await late.json()) as FeedPage;
  return { cursor: meta.next_cursor, eventsPerSecond: events / seconds };
}

/** Logins with the right password. The password hash, slow by design, takes most of the time. */
export async function benchLogin(
  lab: Lab,
  plan: { readonly clients: number; readonly seconds: number; readonly rounds: number },
): Promise<CaseResult> {
  const { slug } = await lab.organization('logins');
  const email = 'bench@logins.example';
  const password = 'a password for the bench';
  await lab.service.cli(
    [
      'user',
      'create',
      '--org',
      slug,
      '--email',
      email,
      '--name',
      'Bench',
      '--role',
      'auditor',
      '--password-stdin',
    ],
    password,
  );
  const body = JSON.stringify({ email, password, organization: slug });
  const url = `${lab.service.url}/api/v1/auth/login-handler`;
  const login = async (): Promise<void> => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    });
    await answer.text();
    if (answer.status !== 200) throw new Error(`a login answers ${answer.status}`);
  };
  await login();
  const clients = Math.min(plan.clients, 8);
  const measured = await sideBySide(lab, {
    id: 'login',
    title: `logins, ${clients} clients`,
    unit: 'logins',
    rounds: plan.rounds,
    service: async () => {
      const began = performance.now();
      const endMs = began + (plan.seconds / plan.rounds) * 1000;
      let units = 0;
      const client = async (): Promise<void> => {
        while (performance.now() < endMs) {
          await login();
          units += 1;
        }
      };
      await Promise.all(Array.from({ length: clients }, client));
      return { units, seconds: (performance.now() - began) / 1000 };
    },
  });
  return { ...measured, notes: ['argon2id, two at a time by design'] };
}
