import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** Times from sending an event until a reader gets it. */
export interface Reading {
  readonly samplesMs: readonly number[];
}

const pollMs = 25;
const readableMsMax = 120_000;

/** Sends single events one after the other, and polls for each until it is readable. */
export function startReadable(url: string, key: string): { stop(): Promise<Reading> } {
  const samplesMs: number[] = [];
  const over = new AbortController();
  const working = (async () => {
    while (!over.signal.aborted) samplesMs.push(await readableAfterMs(url, key));
  })();
  // `stop` throws its error.
  working.catch(() => undefined);
  return {
    async stop() {
      over.abort();
      await working;
      return { samplesMs };
    },
  };
}

async function readableAfterMs(url: string, key: string): Promise<number> {
  const flow = randomUUID();
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ message: { timestamp: Date.now() * 1000, action: 1001, flow_id: flow } });
  const began = performance.now();
  const answer = await fetch(`${url}/api/v1/audit`, { method: 'POST', headers, body });
  if (answer.status !== 202) throw new Error(`an event was answered ${answer.status}`);
  for (;;) {
    const page = await fetch(`${url}/api/v1/audit?flowId=${flow}`, { headers: { 'X-API-Key': key } });
    if (!page.ok) throw new Error(`a page was answered ${page.status}`);
    const { data } = (await page.json()) as { data: unknown[] };
    const ms = performance.now() - began;
    if (data.length > 0) return ms;
    if (ms > readableMsMax) throw new Error('an event did not become readable');
    await sleep(pollMs);
  }
}
