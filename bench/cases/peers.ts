import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { batchEvents, type Dataset, writeDataset } from '../lab/dataset.ts';
import type { Lab } from '../lab/lab.ts';
import { sideBySide, type Slice, sliceOf } from '../lab/side-by-side.ts';
import type { Job, Target } from '../load/job.ts';
import { findPostgres, startPostgres } from '../peers/postgres.ts';
import { quantilesMs } from '../stats/histogram.ts';
import type { CaseResult } from '../stats/result.ts';
import { NotThere } from './endpoints.ts';

/** The service beside a usual build of the same API, under the same load: see bench/peers. */

const rounds = 4;
const referenceName = 'Fastify and PostgreSQL';

export interface PeersPlan {
  readonly events: number;
  readonly seconds: number;
  readonly clients: number;
}

interface Contender {
  readonly pid: number;
  readonly target: Target;
  readonly key: string;
}

function writeJob(to: Contender, dataset: Dataset, round: number, clients: number): Job {
  const perRound = Math.floor(dataset.batches.length / rounds);
  const batches = dataset.batches.slice(round * perRound, (round + 1) * perRound);
  return {
    targets: [to.target],
    heads: [
      `POST /api/v1/audit HTTP/1.1\r\nHost: bench\r\nX-API-Key: ${to.key}\r\nContent-Type: application/x-ndjson\r\n`,
    ],
    steps: batches.map((body) => [{ target: 0, head: 0, body }]),
    clients,
    stop: { steps: batches.length },
    dataFile: dataset.path,
    status: 202,
  };
}

function readJob(to: Contender, query: string, clients: number, seconds: number): Job {
  return {
    targets: [to.target],
    heads: [`GET /api/v1/audit?${query} HTTP/1.1\r\nHost: bench\r\nX-API-Key: ${to.key}\r\n`],
    steps: [[{ target: 0, head: 0 }]],
    clients,
    stop: { seconds },
    status: 200,
  };
}

async function measurePeers(
  lab: Lab,
  own: Contender,
  peer: Contender,
  plan: PeersPlan,
): Promise<CaseResult[]> {
  const dataset = await writeDataset(join(lab.directory, 'peers.ndjson'), plan.events, ['peers']);
  const { generator } = lab;
  const write = async (to: Contender, round: number): Promise<Slice> => {
    const before = await lab.events();
    const result = await generator.run(writeJob(to, dataset, round, plan.clients));
    const slice = sliceOf(result, batchEvents);
    if (to === peer) return slice;
    const visibleMs = await lab.visible(before + slice.units);
    return { ...slice, seconds: (visibleMs - result.startedMs) / 1000 };
  };
  const written = await sideBySide(lab, {
    id: 'peers.write',
    title: `batches of ${batchEvents} events until readable, ${plan.clients} clients`,
    unit: 'events',
    rounds,
    service: (round) => write(own, round),
    reference: { name: referenceName, run: (round) => write(peer, round), pid: peer.pid },
  });
  const results = [withLatency(written)];
  const deep = Math.floor(dataset.events * 0.75);
  const reads = [
    ['peers.page', 'first page of 1000 and the total', 'limit=1000'],
    ['peers.deep', `page at offset ${deep}`, `limit=1000&offset=${deep}`],
  ] as const;
  for (const [id, title, query] of reads) {
    const seconds = plan.seconds / rounds;
    const run = async (to: Contender): Promise<Slice> =>
      sliceOf(await generator.run(readJob(to, query, plan.clients, seconds)));
    for (const to of [own, peer]) await run(to);
    const measured = await sideBySide(lab, {
      id,
      title: `${title}, ${dataset.events} events, ${plan.clients} clients`,
      unit: 'pages',
      rounds,
      service: () => run(own),
      reference: { name: referenceName, run: () => run(peer), pid: peer.pid },
    });
    results.push(withLatency(measured));
  }
  return results;
}

function withLatency(result: CaseResult): CaseResult {
  const [p50, p99] = quantilesMs(result.service.latency ?? [], [0.5, 0.99]);
  const [its50, its99] = quantilesMs(result.reference?.side.latency ?? [], [0.5, 0.99]);
  const note = `p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms; ${referenceName} ${its50?.toFixed(1)} and ${its99?.toFixed(1)} ms`;
  return { ...result, notes: [...result.notes, note] };
}

/** Throws NotThere where no PostgreSQL is installed. */
export async function benchPeers(lab: Lab, plan: PeersPlan): Promise<CaseResult[]> {
  const bin = findPostgres();
  if (bin === undefined) throw new NotThere('no PostgreSQL is installed under /usr/lib/postgresql');
  const postgres = await startPostgres(bin);
  const program = fileURLToPath(new URL('../peers/server.js', import.meta.url));
  const server = spawn(process.execPath, [program, postgres.url], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
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
    return await measurePeers(lab, own, { target, key, pid: server.pid ?? 0 }, plan);
  } finally {
    server.stdin.end();
    await once(server, 'exit');
    await postgres.stop();
  }
}
