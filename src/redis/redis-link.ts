import { createHmac } from 'node:crypto';
import { Redis } from 'ioredis';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { counter, gauge } from '../base/observability/metrics.ts';
import { limits } from './limits.ts';

/** No request asks Redis for this long after a failure. */
const redisRetryMs = 1_000;
const redisConnectMsMax = 2_000;

export class RedisAwayError extends Error {
  constructor() {
    super('Redis is away');
    this.name = 'RedisAwayError';
  }
}

/** `own` while Redis is away. */
export async function ifReachable<T>(asked: Promise<T>, own: () => T | Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof RedisAwayError) return own();
    throw error;
  }
}

interface LinkOptions {
  readonly url: string;
  /** Hashes names in Redis; the same in all processes that share counts. */
  readonly secret: string;
  readonly log: Logger;
}

const prefix = 'auditlog';

/**
 * The connection to Redis, or to another server with its protocol:
 *
 *     there ──an error, or no answer in time──▶ away ──connected, and a write answered──▶ there
 *                                               └ tried once a second
 *
 * While Redis is away requests do not wait. A failed connection is not reused, so nothing queues behind a
 * hanging server.
 */
export class RedisLink {
  readonly #options: LinkOptions;
  readonly #key: Buffer;
  #client: Redis | undefined;
  #connecting: Redis | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #isLoggedAway = false;
  readonly #lost = counter(
    'auditlog_redis_lost_total',
    'How often Redis failed or did not answer in time',
    [],
  );

  private constructor(options: LinkOptions) {
    this.#options = options;
    this.#key = createHmac('sha256', options.secret).update('names in Redis').digest();
    gauge(
      'auditlog_redis_reachable',
      '1 while limits are shared through Redis, 0 while it is away',
      [],
      (metric) => metric.set(this.isReachable ? 1 : 0),
    );
  }

  /** Resolves when Redis has answered, or is known to be away. */
  static async open(options: LinkOptions): Promise<RedisLink> {
    const link = new RedisLink(options);
    await link.#connect();
    return link;
  }

  get isReachable(): boolean {
    return this.#client !== undefined;
  }

  prefixOf(kind: string): string {
    return `${prefix}:${kind}`;
  }

  /** A digest that all processes share; needs the secret. */
  hide(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url').slice(0, 22);
  }

  /** Rejects with RedisAwayError if the work fails or takes too long; it may have taken effect. */
  async run<T>(work: (client: Redis) => Promise<T>): Promise<T> {
    const client = this.#client;
    if (client === undefined) throw new RedisAwayError();
    try {
      return await inTime(work(client), limits.redisAnswerMsMax);
    } catch (error) {
      this.#lose(client, error);
      throw new RedisAwayError();
    }
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#connecting?.disconnect();
    this.#client?.disconnect();
    this.#client = undefined;
  }

  async #connect(): Promise<void> {
    const client = this.#newClient();
    this.#connecting = client;
    try {
      // A server that takes no writes would fail the first request.
      const probe = client.connect().then(() => client.set(`${prefix}:probe`, '1', 'PX', redisRetryMs));
      await inTime(probe, redisConnectMsMax);
      if (this.#isStopped) return client.disconnect();
      this.#client = client;
      client.once('close', () => this.#lose(client, new Error('the connection was closed')));
      const words =
        'Limits, failed passwords and Idempotency-Keys are shared with other servers through Redis';
      this.#options.log.info({}, words);
      this.#isLoggedAway = false;
    } catch (error) {
      client.disconnect();
      this.#away(error);
    } finally {
      this.#connecting = undefined;
    }
  }

  #newClient(): Redis {
    const client = new Redis(this.#options.url, {
      lazyConnect: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
      connectTimeout: redisConnectMsMax,
      connectionName: prefix,
    });
    client.on('error', () => undefined);
    return client;
  }

  #lose(client: Redis, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.disconnect();
    this.#lost.inc();
    this.#away(error);
  }

  /** Logs once per outage, and retries after a second. */
  #away(error: unknown): void {
    if (this.#isStopped) return;
    const words =
      'Redis is away; until it is back, this server counts limits and failed passwords and remembers Idempotency-Keys alone';
    if (!this.#isLoggedAway) this.#options.log.warn(errorFacts(error), words);
    this.#isLoggedAway = true;
    this.#timer = setTimeout(() => void this.#connect(), redisRetryMs);
  }
}

function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    // After a blocked event loop an answer may be waiting: read it first.
    const late = (): void => reject(new Error(`no answer within ${ms} ms`));
    const timer = setTimeout(() => setImmediate(late), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
