import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { followFeed } from '../support/feed.ts';
import { acceptedOf, eventually } from '../support/http.ts';
import {
  printed,
  runCli,
  runCliHere,
  type ServerOptions,
  sourceEvent,
  type Tenant,
} from '../support/server.ts';

export const perBatch = 40;

/** Output of `backup` and `restore` that tests read. */
export interface Backup {
  readonly id: string;
  readonly base: string | null;
  readonly events: number;
  readonly notes: readonly string[];
}

export async function backUp(dataDir: string, place: string, env?: ServerOptions['env']): Promise<Backup> {
  const args = ['backup', '--to', place, '--with-secrets', '--json'];
  // It may start a server, which needs its own process.
  return printed(await runCli(args, { dataDir, env })) as Backup;
}

export async function restoreTo(dataDir: string, place: string, ...more: string[]): Promise<Backup> {
  const args = ['restore', '--from', place, '--json', ...more];
  return printed(await runCliHere(args, { dataDir })) as Backup;
}

/** Sends batches with their own keys, each after the previous one is acknowledged. */
export class Producer {
  readonly #tenant: Tenant;
  #sending: Promise<void> | undefined;
  #isStopped = false;
  acknowledged = 0;

  constructor(tenant: Tenant) {
    this.#tenant = tenant;
  }

  /** Resolves when `count` events are acknowledged. */
  async begin(count: number): Promise<void> {
    this.#sending = this.#go();
    await this.until(count);
  }

  async until(count: number): Promise<void> {
    const isDone = async () => (this.acknowledged >= count ? true : undefined);
    await eventually(`${count} acknowledged events`, isDone, 60_000);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#sending ?? Promise.resolve();
  }

  /** The batch that begins with this number. */
  send(first: number, tenant = this.#tenant) {
    const timestamp = '2024-05-06T07:08:09.123456Z';
    const batch = Array.from({ length: perBatch }, (_, n) =>
      sourceEvent({ timestamp, extra: { n: first + n, text: 'é'.repeat(n) } }),
    );
    return tenant.post(batch, { 'idempotency-key': `batch-${first}` });
  }

  async #go(): Promise<void> {
    while (!this.#isStopped) {
      const answer = await this.send(this.acknowledged).catch(() => undefined);
      // The server was killed: it is unknown whether it has the batch.
      if (answer === undefined) return;
      this.acknowledged += acceptedOf(answer).accepted;
      await sleep(5);
    }
  }
}

/** The feed after a cursor, and the numbers of the producer's events in it. */
export async function follow(tenant: Tenant, from = '') {
  const [events, cursor] = await followFeed(tenant, from, '5000');
  return {
    cursor,
    events,
    numbers: events.flatMap(({ extra_map: extra }) => (extra?.['n'] as number) ?? []),
  };
}

/** Waits until the feed has `count` events of the producer, and checks that these are the first ones, each once. */
export async function holdFirst(tenant: Tenant, count: number): Promise<void> {
  const numbers = await eventually(`${count} events`, async () => {
    const found = (await follow(tenant)).numbers;
    return found.length >= count ? found : undefined;
  });
  assert.deepEqual(sorted(numbers), upTo(count));
}

/** Number of the producer's events in a backup: making the organization and its key adds two. */
export const ofProducer = ({ events }: Backup): number => events - 2;

/** An operator's copy; files may disappear meanwhile. */
export async function copy(from: string, to: string): Promise<void> {
  const command = `cp -a "$1" "$2" 2> /dev/null || true`;
  await promisify(execFile)('sh', ['-c', command, 'sh', from, to]);
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);
const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);
