import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { sourceEvent } from '../support/server.ts';
import { eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';

/** A service behind TLS. */
export interface Secured {
  readonly port: number;
  readonly ca: string;
  readonly key: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

const eventsOfBatch = 20;
const askMsMax = 20_000;
const pauseMs = 20;

/** One request; rejects without a complete answer. */
export function ask(to: Secured, path: string, agent: Agent, batch?: string): Promise<Answer> {
  const body = batch === undefined ? undefined : JSON.stringify(eventsOf(batch));
  const headers = {
    'x-api-key': to.key,
    ...(body !== undefined && {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'idempotency-key': batch,
    }),
  };
  const method = body === undefined ? 'GET' : 'POST';
  const signal = AbortSignal.timeout(patience(askMsMax));
  const target = { host: '127.0.0.1', port: to.port, ca: to.ca, path, method, headers, agent, signal };
  return new Promise((resolve, reject) => {
    const sent = request(target, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      answer.once('error', reject);
      answer.once('end', () =>
        answer.complete ? resolve({ status: answer.statusCode ?? 0, text }) : reject(new Error('cut short')),
      );
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

function eventsOf(batch: string): object[] {
  return Array.from({ length: eventsOfBatch }, (_, n) => sourceEvent({ extra: { batch, n } }));
}

/**
 * Clients that post batches through a proxy, one after the other. `finish` repeats batches without a 202 under the
 * same key, so each must be stored once in the end.
 */
export class Load {
  readonly #to: Secured;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #again: string[] = [];
  readonly #others = new Map<string, number>();
  readonly #clients: Promise<void>[];
  #acknowledged = 0;
  #stopped = false;

  constructor(to: Secured, clients: number) {
    this.#to = to;
    this.#clients = Array.from({ length: clients }, () => this.#post());
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** Other answers than 202, and their numbers. */
  get others(): string {
    return [...this.#others].map(([answer, count]) => `${count} times ${answer}`).join(', ') || 'nothing';
  }

  /** Waits for `count` more batches. */
  async further(count: number): Promise<void> {
    const enough = this.#acknowledged + count;
    const reached = async () => (this.#acknowledged >= enough ? true : undefined);
    await eventually(`${count} batches more`, reached).catch((error: unknown) => {
      throw new Error(`instead of 202: ${this.others}`, { cause: error });
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  /** After `stop`: repeats open batches; returns the expected number of events. */
  async finish(): Promise<number> {
    for (const batch of this.#again) {
      const sent = async () => (await this.#outcome(batch)) === '202' || undefined;
      await eventually('a batch to be taken', sent);
      this.#acknowledged++;
    }
    this.#agent.destroy();
    return this.#acknowledged * eventsOfBatch;
  }

  async #post(): Promise<void> {
    while (!this.#stopped) {
      const batch = randomUUID();
      const outcome = await this.#outcome(batch);
      if (outcome === '202') {
        this.#acknowledged++;
        continue;
      }
      this.#again.push(batch);
      this.#others.set(outcome, (this.#others.get(outcome) ?? 0) + 1);
      await sleep(pauseMs);
    }
  }

  async #outcome(batch: string): Promise<string> {
    try {
      const { status } = await ask(this.#to, '/api/v1/audit', this.#agent, batch);
      return String(status);
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code ?? error);
    }
  }
}

/** Waits until all acknowledged events are readable, and checks that each is there once. */
export async function holdEachOnce(to: Secured, expected: number): Promise<void> {
  const agent = new Agent();
  const range = 'endTime=2024-12-31T00:00:00Z';
  await eventually(`${expected} events`, async () => {
    const { status, text } = await ask(to, `/api/v1/audit?limit=1&${range}`, agent);
    if (status !== 200) return undefined;
    const { total } = (JSON.parse(text) as { meta: { total: number } }).meta;
    assert.ok(total <= expected, `${total} events where ${expected} were acknowledged`);
    return total === expected ? true : undefined;
  });
  const { status, text } = await ask(to, `/api/v1/audit/export?${range}`, agent);
  assert.equal(status, 200);
  const seen = new Set(
    text
      .trimEnd()
      .split('\n')
      .map((line) => {
        const { batch, n } = (JSON.parse(line) as { extra_map: { batch: string; n: number } }).extra_map;
        return `${batch} ${n}`;
      }),
  );
  assert.equal(seen.size, expected);
  assert.equal(text.trimEnd().split('\n').length, expected);
}
