import type { Logger } from '../base/observability/log.ts';
import type { RateCounter } from '../base/time/rates.ts';
import { RedisLink } from './redis-link.ts';
import { SharedAnswers } from './shared-answers.ts';
import { SharedRates } from './shared-rates.ts';
import { SharedRecords } from './shared-records.ts';

interface SharedCountsOptions {
  readonly url: string;
  readonly secret: string;
  readonly log: Logger;
}

/**
 * Shared state in Redis (contract: Ingest, Rate limits, Credentials). This folder is loaded only with
 * REDIS_URL.
 */
export class SharedCounts {
  readonly #link: RedisLink;

  private constructor(link: RedisLink) {
    this.#link = link;
  }

  static async open(options: SharedCountsOptions): Promise<SharedCounts> {
    return new SharedCounts(await RedisLink.open(options));
  }

  get isReachable(): boolean {
    return this.#link.isReachable;
  }

  rates(own: RateCounter): SharedRates {
    return new SharedRates(this.#link, own);
  }

  /** `ownWith` creates the records used while Redis is away, by the given clock. */
  records<State>(
    kind: string,
    ownWith: ConstructorParameters<typeof SharedRecords<State>>[2],
  ): SharedRecords<State> {
    return new SharedRecords(this.#link, kind, ownWith);
  }

  /** `instance`: a UUID of this server that survives restarts. */
  answers<Answer>(instance: string): SharedAnswers<Answer> {
    return new SharedAnswers(this.#link, instance);
  }

  stop(): void {
    this.#link.stop();
  }
}
