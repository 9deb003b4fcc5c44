import type { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { FifoMap } from '../base/waiting/fifo-map.ts';
import { formatRate, type Rate, type RateCounter, type Verdict, verdictOf } from '../base/time/rates.ts';
import { ifReachable, type RedisLink } from './redis-link.ts';

/** Rates with a limiter each; makers of keys choose them freely. */
const redisRatesMax = 1_000;

/** Counts a request and returns the remaining time. The library's script knows whole seconds only. */
const countScript = `redis.call('set', KEYS[1], 0, 'PX', ARGV[2], 'NX')
return {redis.call('incrby', KEYS[1], ARGV[1]), redis.call('pttl', KEYS[1])}`;

/** One round trip a request, none while a client is known to be over its limit. `own` counts while Redis is away. */
export class SharedRates implements RateCounter {
  readonly #link: RedisLink;
  readonly #own: RateCounter;
  readonly #limiters = new FifoMap<{ readonly client: Redis; readonly limiter: RateLimiterRedis }>();

  constructor(link: RedisLink, own: RateCounter) {
    this.#link = link;
    this.#own = own;
  }

  consume(client: string, rate: Rate): Promise<Verdict> {
    const name = this.#link.hide(client);
    const count = async (redis: Redis): Promise<Verdict> => {
      const { isOver, result } = await consumed(this.#limiterOf(redis, rate), name, rate.windowMs);
      const requests = isOver ? rate.requests + 1 : result.consumedPoints;
      return verdictOf(rate, requests, result.msBeforeNext);
    };
    return ifReachable(this.#link.run(count), () => this.#own.consume(client, rate));
  }

  peek(client: string, rate: Rate): Promise<Verdict> {
    const name = this.#link.hide(client);
    const look = async (redis: Redis): Promise<Verdict> => {
      const result = await this.#limiterOf(redis, rate).get(name);
      if (result === null) return verdictOf(rate, 1, rate.windowMs);
      return verdictOf(rate, result.consumedPoints + 1, result.msBeforeNext);
    };
    return ifReachable(this.#link.run(look), () => this.#own.peek(client, rate));
  }

  #limiterOf(client: Redis, rate: Rate): RateLimiterRedis {
    const text = formatRate(rate);
    const known = this.#limiters.get(text);
    if (known?.client === client) return known.limiter;
    const limiter = new RateLimiterRedis({
      storeClient: client,
      keyPrefix: this.#link.prefixOf('rate'),
      points: rate.requests,
      duration: rate.windowMs,
      customIncrTtlLuaScript: countScript,
      inMemoryBlockOnConsumed: rate.requests,
    });
    this.#limiters.set(text, { client, limiter });
    if (this.#limiters.size > redisRatesMax) this.#limiters.removeOldest();
    return limiter;
  }
}

/** The library rejects with its result if a client is over its limit. */
async function consumed(
  limiter: RateLimiterRedis,
  name: string,
  windowMs: number,
): Promise<{ readonly isOver: boolean; readonly result: RateLimiterRes }> {
  try {
    return { isOver: false, result: await limiter.consume(name) };
  } catch (result) {
    if (!(result instanceof RateLimiterRes)) throw result;
    // A result without points comes from the memory of this process, by a clock that may have been set back.
    if (result.consumedPoints > 0 || result.msBeforeNext <= windowMs) return { isOver: true, result };
    limiter.deleteInMemoryBlockedAll();
    return consumed(limiter, name, windowMs);
  }
}
