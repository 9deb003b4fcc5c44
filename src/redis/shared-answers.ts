import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../base/errors/problem.ts';
import { counter } from '../base/observability/metrics.ts';
import { RedisAwayError, type RedisLink } from './redis-link.ts';

/** A key is refused for this long if its server died. */
const answerClaimMs = 600_000;
const answerKeptMs = 24 * 3_600_000;
/** Wait for the answer of the server that claimed the key. */
const answerWaitMsMax = 3_000;
const answerPollMs = 50;

/** `sent`: digest of the body. */
interface Kept<Answer> {
  readonly sent: string;
  readonly instance?: string;
  readonly answer?: Answer;
}

interface Answered<Answer> {
  readonly kind: 'answered';
  readonly sent: string;
  readonly answer: Answer;
}

const replaceScript = `local kept = redis.call('get', KEYS[1])
if kept and kept ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('del', KEYS[1]) else redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`;

interface Claim<Answer> {
  readonly kind: 'claimed';
  answered(answer: Answer): Promise<void>;
  withdraw(): Promise<void>;
}

/**
 * A server claims a key (SET NX) before it stores events, and replaces the claim by the answer when they are durable (contract:
 * Ingest). If a server dies, others refuse the key until that server has answered, or the claim expires. While Redis is away each
 * server remembers alone.
 */
export class SharedAnswers<Answer> {
  readonly #link: RedisLink;
  /** Survives restarts, so a server takes over its claims. */
  readonly #instance: string;
  readonly #unshared = counter(
    'auditlog_idempotency_unshared_total',
    'Requests with an Idempotency-Key that other servers do not know of, as Redis was away or a claim had expired',
    [],
  );

  constructor(link: RedisLink, instance: string) {
    this.#link = link;
    this.#instance = instance;
  }

  /**
   * `id`: digest of API key and Idempotency-Key. Rejects with a 503 Problem if another server has the key and
   * does not answer in time.
   */
  async claim(id: string, sent: string): Promise<Claim<Answer> | Answered<Answer>> {
    const deadline = performance.now() + answerWaitMsMax;
    let hasRival = false;
    try {
      for (;;) {
        const kept = await this.#take(id, this.#claimText(sent));
        if (kept?.answer !== undefined) return answeredBy(kept, kept.answer);
        if (kept === undefined || kept.instance === this.#instance) return this.#claimed(id, sent);
        hasRival = true;
        if (performance.now() > deadline) throw busy();
        await sleep(answerPollMs);
      }
    } catch (error) {
      if (!(error instanceof RedisAwayError)) throw error;
      if (hasRival) throw busy();
      this.#unshared.inc();
      return this.#claimed(id, sent);
    }
  }

  async find(id: string): Promise<Answered<Answer> | undefined> {
    try {
      const kept = parsed<Answer>(await this.#link.run((client) => client.get(this.#redisKey(id))));
      return kept?.answer === undefined ? undefined : answeredBy(kept, kept.answer);
    } catch (error) {
      if (error instanceof RedisAwayError) return undefined;
      throw error;
    }
  }

  #claimed(id: string, sent: string): Claim<Answer> {
    const claim = this.#claimText(sent);
    const answerText = (answer: Answer) => JSON.stringify({ sent, answer } satisfies Kept<Answer>);
    return {
      kind: 'claimed',
      answered: (answer) => this.#replace(id, claim, answerText(answer)),
      withdraw: () => this.#replace(id, claim, ''),
    };
  }

  #claimText(sent: string): string {
    return JSON.stringify({ sent, instance: this.#instance } satisfies Kept<Answer>);
  }

  /** Keeps another server's entry: this claim has expired. */
  async #replace(id: string, claim: string, text: string): Promise<void> {
    const name = this.#redisKey(id);
    try {
      const isReplaced = await this.#link.run((client) =>
        client.eval(replaceScript, 1, name, claim, text, answerKeptMs),
      );
      if (isReplaced !== 1) this.#unshared.inc();
    } catch (error) {
      if (!(error instanceof RedisAwayError)) throw error;
      this.#unshared.inc();
    }
  }

  async #take(id: string, claim: string): Promise<Kept<Answer> | undefined> {
    const name = this.#redisKey(id);
    const text = await this.#link.run(async (client) => {
      const begun = client.multi().set(name, claim, 'PX', answerClaimMs, 'NX').get(name);
      const [set, got] = (await begun.exec()) ?? [];
      const failure = set?.[0] ?? got?.[0];
      if (failure) throw failure;
      return got?.[1];
    });
    return parsed(text);
  }

  #redisKey(id: string): string {
    return `${this.#link.prefixOf('answer')}:${this.#link.hide(id)}`;
  }
}

function answeredBy<Answer>({ sent }: Kept<Answer>, answer: Answer): Answered<Answer> {
  return { kind: 'answered', sent, answer };
}

/** An unreadable entry is not ours. */
function parsed<Answer>(text: unknown): Kept<Answer> | undefined {
  try {
    return typeof text === 'string' ? (JSON.parse(text) as Kept<Answer>) : undefined;
  } catch {
    return undefined;
  }
}

function busy(): Problem {
  const detail = 'Another server is working on a request with this Idempotency-Key; try again.';
  return new Problem('unavailable', detail, { retryAfterSeconds: 1 });
}
