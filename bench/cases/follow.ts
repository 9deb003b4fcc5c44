import { join } from 'node:path';
import { batchEvents, writeDataset } from '../lab/dataset.ts';
import type { Lab } from '../lab/lab.ts';
import { epochMs, type Job } from '../load/job.ts';
import type { CaseResult } from '../stats/result.ts';
import { summarize } from '../stats/summary.ts';
import { postHead } from './ingest.ts';

export interface FollowPlan {
  /** Events prepared, sent again and again. */
  readonly events: number;
  readonly seconds: number;
  readonly clients: number;
  /** Events of a page of the feed. */
  readonly limit: number;
}

const warmUpSeconds = 3;
const lineFeed = 0x0a;

interface Page {
  readonly events: number;
  readonly cursor: string;
  readonly more: boolean;
}

/**
 * One page, its events counted and not parsed: what is measured is the service and not JSON.parse, which takes as
 * long on this side as the whole page on the other.
 */
async function readPage(url: string, key: string): Promise<Page> {
  const answer = await fetch(url, { headers: { 'X-API-Key': key } });
  if (!answer.ok) throw new Error(`the feed answers ${answer.status}`);
  const body = Buffer.from(await answer.arrayBuffer());
  const meta = body.lastIndexOf(',"meta":');
  const { next_cursor: cursor, has_more: more } = JSON.parse(body.subarray(meta + 8, -1).toString()) as {
    next_cursor: string;
    has_more: boolean;
  };
  let events = meta > '{"data":[]'.length ? 1 : 0;
  for (let at = body.indexOf(lineFeed); at !== -1 && at < meta; at = body.indexOf(lineFeed, at + 1))
    events += 1;
  return { events, cursor, more };
}

/**
 * One follower of one organization while events come in for it as fast as the service takes them: how many a second
 * it reads until it has them all, beside how many were acknowledged, and for how long it is behind when the last
 * batch has been answered.
 */
export async function benchFollow(lab: Lab, plan: FollowPlan): Promise<CaseResult> {
  const { seconds, clients, limit } = plan;
  const { slug, key } = await lab.organization(`followed-${limit}`);
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
  await lab.generator.run({ ...job, stop: { seconds: warmUpSeconds } });
  await lab.engine.mergesDone();
  const url = (cursor: string): string =>
    `${lab.service.url}/api/v1/audit/feed?limit=${limit}&wait=5&cursor=${encodeURIComponent(cursor)}`;
  let { cursor, more } = await readPage(url(''), key);
  while (more) ({ cursor, more } = await readPage(url(cursor), key));

  const sent = { events: Number.POSITIVE_INFINITY, ms: 0 };
  const began = epochMs();
  const sending = lab.generator.run(job).then((result) => {
    sent.events = result.steps * batchEvents;
    sent.ms = result.endedMs;
    return result;
  });
  let followed = 0;
  let pages = 0;
  while (followed < sent.events) {
    const page = await readPage(url(cursor), key);
    followed += page.events;
    pages += 1;
    ({ cursor } = page);
  }
  const caughtUpMs = epochMs();
  const { startedMs, endedMs } = await sending;
  const acknowledgedRate = followed / ((endedMs - startedMs) / 1000);
  const followedRate = followed / ((caughtUpMs - began) / 1000);
  return {
    id: limit === 1000 ? 'feed.follow' : 'feed.follow-large',
    title: `one follower, pages of ${limit}, beside ingest at full speed from ${clients} clients`,
    unit: 'events',
    service: { rate: summarize([followedRate]) },
    reference: { name: 'acknowledged', side: { rate: summarize([acknowledgedRate]) } },
    ratio: summarize([followedRate / acknowledgedRate]),
    notes: [
      `${Math.max(0, (caughtUpMs - sent.ms) / 1000).toFixed(2)} s behind when the last batch was answered; ` +
        `${(followed / pages).toFixed(0)} events a page`,
    ],
  };
}
