import { createHmac } from 'node:crypto';
import { Redis } from 'ioredis';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { counter, gauge } from '../base/observability/metrics.ts';
import { limits } from './limits.ts';

/** After a failure no request asks Redis for this long. */
const redisRetryMs = 1_000;
/** How long one attempt to connect may take. */
const redisConnectMsMax = 2_000;

/** Redis did not answer in time, or is known to be away. */
export class RedisAwayError extends Error {
  constructor() {
    super('Redis is away');
    this.name = 'RedisAwayError';
  }
}

/** What Redis was asked, or `own` while Redis is away. */
export async function ifReachable<T>(asked: Promise<T>, own: () => T | Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof RedisAwayError) return own();
    throw error;
  }
}

interface LinkOptions {
  /** redis:// or rediss://, with user and password where it has them. */
  readonly url: string;
  /** Names in Redis are hashed with it, so all processes that share counts need the same. */
  readonly secret: string;
  readonly log: Logger;
}

const prefix = 'auditlog';

/**
 * The connection to Redis, or to another server of its protocol, and what is known of it:
 *
 *     there ──an error, or no answer in time──▶ away ──connected, and a write answered──▶ there
 *                                               └ tried once a second
 *
 * While it is away nothing is asked and nobody waits. A connection that failed is not used again, so nothing piles up
 * behind a server that stands still.
 */
export class RedisLink {
  readonly #options: LinkOptions;
  readonly #key: Buffer;
  #client: Redis | undefined;
  #connecting: Redis | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #isToldAway = false;
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

  /** What names in Redis begin with, before a colon. */
  prefixOf(kind: string): string {
    return `${prefix}:${kind}`;
  }

  /** A digest that all processes share, and nobody without the secret understands. */
  hide(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url').slice(0, 22);
  }

  /** Rejects with RedisAwayError when the work fails or takes too long; it may have taken effect. */
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
      // A server that takes no writes would be lost again with the first request.
      const probe = client.connect().then(() => client.set(`${prefix}:probe`, '1', 'PX', redisRetryMs));
      await inTime(probe, redisConnectMsMax);
      if (this.#isStopped) return client.disconnect();
      this.#client = client;
      client.once('close', () => this.#lose(client, new Error('the connection was closed')));
      const words = 'limits, failed passwords and Idempotency-Keys are shared with other servers, in Redis';
      this.#options.log.info({}, words);
      this.#isToldAway = false;
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
    // Each failure reaches whoever asked, or the attempt to connect.
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

  /** Logs a line each time that it goes away; tries again in a second. */
  #away(error: unknown): void {
    if (this.#isStopped) return;
    const words =
      'Redis is away: until it is back this server counts limits and failed passwords, and knows Idempotency-Keys, by itself';
    if (!this.#isToldAway) this.#options.log.warn(errorFacts(error), words);
    this.#isToldAway = true;
    this.#timer = setTimeout(() => void this.#connect(), redisRetryMs);
  }
}

function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    // If this process was held up, an answer may be waiting: it is read before the next turn.
    const late = (): void => reject(new Error(`no answer within ${ms} ms`));
    const timer = setTimeout(() => setImmediate(late), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
