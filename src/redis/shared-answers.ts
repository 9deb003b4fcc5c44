import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../base/errors/problem.ts';
import { counter } from '../base/observability/metrics.ts';
import { limits } from './limits.ts';
import { RedisAwayError, type RedisLink } from './redis-link.ts';

/** What Redis keeps of a key: who is at work on it, or the answer. `sent` is the digest of the body. */
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

/** The right to store the events of a request. */
interface Claim<Answer> {
  readonly kind: 'claimed';
  /** Resolves when the other servers can read the answer, or Redis is away. */
  answered(answer: Answer): Promise<void>;
  /** Nothing was stored. */
  withdraw(): Promise<void>;
}

/**
 * Answers to requests with an Idempotency-Key, shared by all servers with the same Redis (contract: Ingest). A server
 * claims a key before it stores anything (SET NX), and puts the answer in the claim's place once the events are durable.
 *
 * A claim lasts ten minutes. If its server dies before it has answered, the others refuse the key until that server is
 * back and has answered it, or until the claim has expired: then the next repeat is stored.
 *
 * While Redis is away each server goes by what it remembers itself.
 */
export class SharedAnswers<Answer> {
  readonly #link: RedisLink;
  /** Survives restarts, so a server takes over the claims of its last run. */
  readonly #instance: string;
  readonly #unshared = counter(
    'auditlog_idempotency_unshared_total',
    'Requests with an Idempotency-Key that other servers do not know of, as Redis was away',
    [],
  );

  constructor(link: RedisLink, instance: string) {
    this.#link = link;
    this.#instance = instance;
  }

  /**
   * `id` is a digest of API key and Idempotency-Key. Rejects with a 503 Problem when another server has the key and does
   * not answer in time. A server never asks for one key twice at the same time.
   */
  async claim(id: string, sent: string): Promise<Claim<Answer> | Answered<Answer>> {
    const deadline = performance.now() + limits.answerWaitMsMax;
    let hasRival = false;
    try {
      for (;;) {
        const kept = await this.#take(id, { sent, instance: this.#instance });
        if (kept?.answer !== undefined) return answeredBy(kept, kept.answer);
        if (kept === undefined || kept.instance === this.#instance) return this.#claimed(id, sent);
        hasRival = true;
        if (performance.now() > deadline) throw busy();
        await sleep(limits.answerPollMs);
      }
    } catch (error) {
      if (!(error instanceof RedisAwayError)) throw error;
      if (hasRival) throw busy();
      this.#unshared.inc();
      return this.#claimed(id, sent);
    }
  }

  /** The answer of any server, for a request that stores nothing. */
  async find(id: string): Promise<Answered<Answer> | undefined> {
    try {
      const kept = parsed<Answer>(await this.#link.run((client) => client.get(this.#nameOf(id))));
      return kept?.answer === undefined ? undefined : answeredBy(kept, kept.answer);
    } catch (error) {
      if (error instanceof RedisAwayError) return undefined;
      throw error;
    }
  }

  #claimed(id: string, sent: string): Claim<Answer> {
    const name = this.#nameOf(id);
    return {
      kind: 'claimed',
      answered: (answer) => {
        const kept = JSON.stringify({ sent, answer } satisfies Kept<Answer>);
        return this.#tell((client) => client.set(name, kept, 'PX', limits.answerKeptMs));
      },
      withdraw: () => this.#tell((client) => client.del(name)),
    };
  }

  async #tell(write: Parameters<RedisLink['run']>[0]): Promise<void> {
    try {
      await this.#link.run(write);
    } catch (error) {
      if (!(error instanceof RedisAwayError)) throw error;
      this.#unshared.inc();
    }
  }

  /** Puts a claim where there is nothing yet. Resolves with what is there now. */
  async #take(id: string, claim: Kept<Answer>): Promise<Kept<Answer> | undefined> {
    const name = this.#nameOf(id);
    const text = await this.#link.run(async (client) => {
      const begun = client
        .multi()
        .set(name, JSON.stringify(claim), 'PX', limits.answerClaimMs, 'NX')
        .get(name);
      const [set, got] = (await begun.exec()) ?? [];
      const failure = set?.[0] ?? got?.[0];
      if (failure) throw failure;
      return got?.[1];
    });
    return parsed(text);
  }

  #nameOf(id: string): string {
    return `${this.#link.prefixOf('answer')}:${this.#link.hide(id)}`;
  }
}

function answeredBy<Answer>({ sent }: Kept<Answer>, answer: Answer): Answered<Answer> {
  return { kind: 'answered', sent, answer };
}

/** What cannot be read is none of ours. */
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
