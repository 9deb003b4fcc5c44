import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { batchEvents, writeDataset } from '../lab/dataset.ts';
import type { Lab } from '../lab/lab.ts';
import { metric } from '../lab/metric.ts';
import { cpuMicros } from '../lab/process-stats.ts';
import type { Service } from '../lab/service.ts';
import { type Connection, createConnection } from '../load/connection.ts';
import { epochMs, type Job } from '../load/job.ts';
import type { CaseResult } from '../stats/result.ts';
import { summarize } from '../stats/summary.ts';
import { postHead } from './ingest.ts';

export interface FollowPlan {
  readonly id: string;
  /** Number of prepared events, which are sent repeatedly. */
  readonly events: number;
  readonly seconds: number;
  readonly clients: number;
  /** Events of a page of the feed. */
  readonly limit: number;
  /** Requests pages in gzip, as most HTTP clients do, and decompresses them. */
  readonly gzip?: boolean;
}

const warmUpSeconds = 3;
const lineFeed = 0x0a;
/** First byte of gzip, but not of JSON. */
const gzipByte = 0x1f;
/** Longer than the members behind `data`. */
const endBytes = 512;

/** A follower on a bare socket, which counts events and does not parse them. */
class Follower {
  events = 0;
  pages = 0;
  #cursor = '';
  readonly #connection: Connection;
  readonly #limit: number;
  readonly #gzip: boolean;
  readonly #head: string;
  #lines = 0;
  /** The last received bytes of the body. */
  #end: Buffer = Buffer.alloc(0);
  #compressed: Buffer[] = [];

  constructor(
    { host, port }: Service,
    key: string,
    { limit, gzip = false }: Pick<FollowPlan, 'limit' | 'gzip'>,
  ) {
    this.#limit = limit;
    this.#gzip = gzip;
    const accepted = gzip ? 'Accept-Encoding: gzip\r\n' : '';
    this.#head = `HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\n${accepted}\r\n`;
    this.#connection = createConnection({ host, port }, (piece) => {
      if (gzip) this.#compressed.push(Buffer.from(piece));
      else this.#take(piece);
    });
  }

  #take(piece: Buffer): void {
    for (let at = piece.indexOf(lineFeed); at !== -1; at = piece.indexOf(lineFeed, at + 1)) this.#lines += 1;
    this.#end = Buffer.concat([this.#end, piece.subarray(-endBytes)]).subarray(-endBytes);
  }

  /** Reads a page; true if there is more. */
  async next(): Promise<boolean> {
    this.#lines = 0;
    this.#end = Buffer.alloc(0);
    const query = `limit=${this.#limit}&wait=5&cursor=${encodeURIComponent(this.#cursor)}`;
    const request = Buffer.from(`GET /api/v1/audit/feed?${query} ${this.#head}`);
    const status = await new Promise<number>((resolve) => this.#connection.send([request], resolve));
    if (status !== 200) throw new Error(`the feed answers ${status}`);
    const compressed = Buffer.concat(this.#compressed.splice(0));
    // A short answer is not compressed.
    if (this.#gzip) this.#take(compressed[0] === gzipByte ? gunzipSync(compressed) : compressed);
    const end = this.#end.toString('latin1').trimEnd();
    const metaAt = end.lastIndexOf(',"meta":');
    const meta = JSON.parse(end.slice(metaAt + 8, -1)) as { next_cursor: string; has_more: boolean };
    // A line break ends each event but the last, and the answer.
    if (!end.slice(0, metaAt).endsWith('[]')) this.events += this.#lines;
    this.pages += 1;
    this.#cursor = meta.next_cursor;
    return meta.has_more;
  }

  async toEnd(): Promise<void> {
    while (await this.next());
  }

  close(): void {
    this.#connection.close();
  }
}

/** Figures of one run of ingest, with or without a follower. */
interface Ingested {
  readonly events: number;
  readonly endedMs: number;
  readonly readableMs: number;
  /** Events of the whole run, and of its last two thirds, a second. */
  readonly rate: number;
  readonly lateRate: number;
  readonly lateFollowedRate: number;
  /** Processor time of an event. */
  readonly costs: string;
}

/** Runs a job of ingest; `onAnswered` gets the number of acknowledged events, before all are readable. */
async function ingest(
  lab: Lab,
  job: Job,
  seconds: number,
  { follower, onAnswered }: { follower: Follower; onAnswered: (events: number) => Promise<unknown> },
): Promise<Ingested> {
  const processorTimes = (): number[] => {
    const { user, system } = process.cpuUsage();
    return [lab.service.pid, lab.engine.access.pid]
      .map((pid) => cpuMicros(pid) ?? Number.NaN)
      .concat(user + system);
  };
  const progress = async () => {
    const name = 'auditlog_ingest_events_total\\{outcome="accepted"\\}';
    return { acknowledged: await metric(lab.service.url, name), followed: follower.events, ms: epochMs() };
  };
  const stored = await lab.events();
  const before = processorTimes();
  const running = lab.generator.run(job);
  await sleep((seconds * 1000) / 3);
  const third = await progress();
  const { steps, startedMs, endedMs, cpuMicros: generator } = await running;
  const end = await progress();
  const events = steps * batchEvents;
  const [readableMs] = await Promise.all([lab.visible(stored + events), onAnswered(events)]);
  const times = processorTimes().map((time, at) => time - (before[at] ?? 0));
  const names = ['service', 'engine', 'follower', 'generator'];
  const late = (of: 'acknowledged' | 'followed'): number =>
    (end[of] - third[of]) / ((end.ms - third.ms) / 1000);
  return {
    events,
    endedMs,
    readableMs,
    rate: events / ((endedMs - startedMs) / 1000),
    lateRate: late('acknowledged'),
    lateFollowedRate: late('followed'),
    costs: [...times, generator].map((time, at) => `${names[at]} ${(time / events).toFixed(1)}`).join(', '),
  };
}

/**
 * One follower of one organization while events come in for it as fast as the service takes them. Counted is from a
 * third of the time on until the last batch is answered, as the follower first waits for a segment: one that keeps up
 * reads as many events in that time as are acknowledged. For how long it is behind at the end is in the notes.
 */
export async function benchFollow(lab: Lab, plan: FollowPlan): Promise<CaseResult> {
  const { id, seconds, clients, limit, gzip } = plan;
  const { slug, key } = await lab.organization(id.replace('.', '-'));
  const dataset = await writeDataset(join(lab.directory, `${slug}.ndjson`), plan.events, [slug]);
  const job: Job = {
    targets: [lab.service],
    heads: [postHead(lab, key)],
    steps: dataset.batches.map((body) => [{ target: 0, head: 0, body }]),
    clients,
    stop: { seconds },
    dataFile: dataset.path,
    status: 202,
  };
  const follower = new Follower(lab.service, key, plan);
  await lab.generator.run({ ...job, stop: { seconds: warmUpSeconds } });
  await lab.engine.mergesDone();
  const alone = await ingest(lab, job, seconds, { follower, onAnswered: async () => undefined });
  await lab.engine.mergesDone();
  await follower.toEnd();
  Object.assign(follower, { events: 0, pages: 0 });

  let sent = Number.POSITIVE_INFINITY;
  const following = (async () => {
    while (follower.events < sent) await follower.next();
    return epochMs();
  })();
  const beside = await ingest(lab, job, seconds, {
    follower,
    onAnswered: (events) => {
      sent = events;
      return following;
    },
  });
  const behindMs = (await following) - beside.endedMs;
  follower.close();
  return {
    id,
    title: `one follower, pages of ${limit}${gzip ? ' in gzip' : ''}, beside ingest at full speed from ${clients} clients`,
    unit: 'events',
    service: { rate: summarize([beside.lateFollowedRate]) },
    reference: { name: 'acknowledged meanwhile', side: { rate: summarize([beside.lateRate]) } },
    ratio: summarize([beside.lateFollowedRate / beside.lateRate]),
    notes: [
      `all events were readable ${((beside.readableMs - beside.endedMs) / 1000).toFixed(2)} s after the last answer, and ` +
        `followed ${(behindMs / 1000).toFixed(2)} s after it; ${(follower.events / follower.pages).toFixed(0)} events a page`,
      `processor time of an event, µs: ${beside.costs}; of ${Math.round(beside.rate)} events/s`,
      `without a follower: ${alone.costs}; of ${Math.round(alone.rate)} events/s`,
    ],
  };
}
