import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { batchEvents, type Dataset, writeDataset } from '../lab/dataset.ts';
import type { Lab } from '../lab/lab.ts';
import { sideBySide, type Slice, sliceOf } from '../lab/side-by-side.ts';
import type { Job, Target } from '../load/job.ts';
import type { ClickHouseAccess } from '../peers/clickhouse-store.ts';
import { findPostgres, startPostgres } from '../peers/postgres.ts';
import { quantilesMs } from '../stats/histogram.ts';
import type { CaseResult } from '../stats/result.ts';
import { Unavailable } from './endpoints.ts';

/** Compares the service with usual builds of the same API (bench/peers) under the same load. */

const rounds = 4;
/** An export of everything takes a peer minutes. */
const exportRounds = 2;
/** Number of measured events; the others are sent before. */
const measuredEventsMax = 400_000;

export interface PeersPlan {
  /** Number of stored events on either side before reads are measured. */
  readonly events: number;
  readonly seconds: number;
  readonly clients: number;
  readonly wanted: (id: string) => boolean;
}

/** The store of a peer, with the arguments of its server. */
interface PeerStore {
  readonly access: string | ClickHouseAccess;
  stop(): Promise<void>;
}

interface Peer {
  readonly id: 'postgres' | 'clickhouse';
  readonly name: string;
  /** Throws Unavailable if it is not installed. */
  open(lab: Lab): Promise<PeerStore>;
}

export const peers: readonly Peer[] = [
  {
    id: 'postgres',
    name: 'Fastify and PostgreSQL',
    async open() {
      const bin = findPostgres();
      if (bin === undefined) throw new Unavailable('no PostgreSQL is installed under /usr/lib/postgresql');
      const { url, stop } = await startPostgres(bin);
      return { access: url, stop };
    },
  },
  {
    id: 'clickhouse',
    name: 'Fastify and ClickHouse',
    // The service's engine, so that both have the same release.
    async open({ engine, database }) {
      const { url, user, password, headers } = engine.access;
      const own = `${database}_peer`;
      return {
        access: { url, username: user, password, http_headers: headers, database: own },
        async stop() {
          await engine.query(`DROP DATABASE IF EXISTS ${own}`);
        },
      };
    },
  },
];

interface Contender {
  readonly pid: number;
  readonly target: Target;
  readonly key: string;
}

interface Contest {
  readonly lab: Lab;
  readonly peer: Peer;
  readonly own: Contender;
  readonly other: Contender;
  readonly plan: PeersPlan;
}

function writeJob(
  to: Contender,
  dataset: Dataset,
  bodies: Dataset['batches'],
  requests: number,
  clients: number,
): Job {
  return {
    targets: [to.target],
    heads: [
      `POST /api/v1/audit HTTP/1.1\r\nHost: bench\r\nX-API-Key: ${to.key}\r\nContent-Type: application/x-ndjson\r\n`,
    ],
    steps: bodies.map((body) => [{ target: 0, head: 0, body }]),
    clients,
    stop: { steps: requests },
    dataFile: dataset.path,
    status: 202,
  };
}

function readJob(to: Contender, path: string, clients: number, stop: Job['stop']): Job {
  return {
    targets: [to.target],
    heads: [`GET /api/v1/audit${path} HTTP/1.1\r\nHost: bench\r\nX-API-Key: ${to.key}\r\n`],
    steps: [[{ target: 0, head: 0 }]],
    clients,
    stop,
    status: 200,
  };
}

/** Sends batches in a cycle; resolves once all are readable. */
async function send(
  { lab, other, plan }: Contest,
  to: Contender,
  dataset: Dataset,
  bodies: Dataset['batches'],
  requests: number,
): Promise<Slice> {
  const before = await lab.events();
  const result = await lab.generator.run(writeJob(to, dataset, bodies, requests, plan.clients));
  const slice = sliceOf(result, batchEvents);
  if (to === other) return slice;
  const visibleMs = await lab.visible(before + slice.units);
  return { ...slice, seconds: (visibleMs - result.startedMs) / 1000 };
}

/** Fills the store, then measures. */
async function benchWrite(contest: Contest, dataset: Dataset): Promise<CaseResult> {
  const { lab, peer, own, other, plan } = contest;
  const filled = Math.ceil(plan.events / batchEvents) - dataset.batches.length;
  for (const to of [own, other]) if (filled > 0) await send(contest, to, dataset, dataset.batches, filled);
  const requests = Math.floor(dataset.batches.length / rounds);
  const bodies = (round: number) => dataset.batches.slice(round * requests, (round + 1) * requests);
  const measured = await sideBySide(lab, {
    id: `peers.${peer.id}.write`,
    title: `batches of ${batchEvents} events until readable, ${Math.max(0, filled) * batchEvents} stored, ${plan.clients} clients`,
    unit: 'events',
    rounds,
    service: (round) => send(contest, own, dataset, bodies(round), requests),
    reference: {
      name: peer.name,
      run: (round) => send(contest, other, dataset, bodies(round), requests),
      pid: other.pid,
    },
  });
  return withLatency(measured);
}

async function benchRead(contest: Contest, id: string, title: string, query: string): Promise<CaseResult> {
  const { lab, peer, own, other, plan } = contest;
  const { clients } = plan;
  const stop = { seconds: plan.seconds / rounds };
  const run = async (to: Contender): Promise<Slice> =>
    sliceOf(await lab.generator.run(readJob(to, `?${query}`, clients, stop)));
  for (const to of [own, other]) await run(to);
  const measured = await sideBySide(lab, {
    id: `peers.${peer.id}.${id}`,
    title: `${title}, ${plan.events} events, ${clients} clients`,
    unit: 'pages',
    rounds,
    service: () => run(own),
    reference: { name: peer.name, run: () => run(other), pid: other.pid },
  });
  return withLatency(measured);
}

async function benchCsv({ lab, peer, own, other, plan }: Contest): Promise<CaseResult> {
  const run = async (to: Contender): Promise<Slice> =>
    sliceOf(await lab.generator.run(readJob(to, '/export?format=csv', 1, { steps: 1 })), plan.events);
  return sideBySide(lab, {
    id: `peers.${peer.id}.csv`,
    title: `export of ${plan.events} events as CSV`,
    unit: 'events',
    rounds: exportRounds,
    service: () => run(own),
    reference: { name: peer.name, run: () => run(other), pid: other.pid },
  });
}

function withLatency(result: CaseResult): CaseResult {
  const [p50, p99] = quantilesMs(result.service.latency ?? [], [0.5, 0.99]);
  const [its50, its99] = quantilesMs(result.reference?.side.latency ?? [], [0.5, 0.99]);
  const note = `p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms; ${result.reference?.name} ${its50?.toFixed(1)} and ${its99?.toFixed(1)} ms`;
  return { ...result, notes: [...result.notes, note] };
}

async function measure(contest: Contest): Promise<CaseResult[]> {
  const { lab, plan } = contest;
  const events = Math.min(plan.events, measuredEventsMax);
  const dataset = await writeDataset(join(lab.directory, 'peers.ndjson'), events, ['peers']);
  const results = [await benchWrite(contest, dataset)];
  const actor = await lab.engine.query(
    `SELECT actor_email FROM ${lab.database}.events WHERE actor_email != ''
     GROUP BY actor_email ORDER BY count() DESC LIMIT 1 FORMAT TSVRaw`,
  );
  const deep = Math.floor(plan.events * 0.9);
  const reads = [
    ['page', 'first page of 1000 and the total', 'limit=1000'],
    ['deep', `page at offset ${deep}`, `limit=1000&offset=${deep}`],
    ['actor', 'actor, frequent matches', `limit=1000&actor=${encodeURIComponent(actor.trim())}`],
  ] as const;
  const isWanted = (id: string): boolean => plan.wanted(`peers.${contest.peer.id}.${id}`);
  for (const [id, title, query] of reads)
    if (isWanted(id)) results.push(await benchRead(contest, id, title, query));
  if (isWanted('csv')) results.push(await benchCsv(contest));
  return results;
}

/** Throws Unavailable if a program that the peer needs is not installed. */
export async function benchPeer(lab: Lab, peer: Peer, plan: PeersPlan): Promise<CaseResult[]> {
  const store = await peer.open(lab);
  const program = fileURLToPath(new URL('../peers/server.js', import.meta.url));
  const server = spawn(process.execPath, [program, peer.id, JSON.stringify(store.access)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(server, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const died = ended.then(([code, signal]): never => {
    throw new Error(`the peer ended early (${signal ?? `exit code ${code}`})`);
  });
  try {
    return await Promise.race([contend(server, lab, peer, plan), died]);
  } finally {
    server.stdin.end();
    await ended;
    await store.stop();
  }
}

/** Waits until the peer listens, makes an organization on either side, and measures. */
async function contend(
  server: ChildProcessByStdio<Writable, Readable, null>,
  lab: Lab,
  peer: Peer,
  plan: PeersPlan,
): Promise<CaseResult[]> {
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const target = { host: '127.0.0.1', port: Number(line.toString()) };
  const key = randomUUID();
  const made = await fetch(`http://127.0.0.1:${target.port}/keys/${key}/${randomUUID()}`, {
    method: 'PUT',
  });
  if (made.status !== 204) throw new Error(`the peer answers ${made.status}`);
  const organization = await lab.organization('peers');
  const { host, port } = lab.service;
  const own = { target: { host, port }, key: organization.key, pid: lab.service.pid };
  return await measure({ lab, peer, own, other: { target, key, pid: server.pid ?? 0 }, plan });
}
