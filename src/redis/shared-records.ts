import { KeyedMutex } from '../base/waiting/keyed-mutex.ts';
import { limits } from './limits.ts';
import { ifReachable, RedisAwayError, type RedisLink } from './redis-link.ts';

interface Change<State, T> {
  readonly state: State;
  readonly keptMs: number;
  readonly result: T;
}

/** JSON records with atomic updates. `nowMs` is their clock. */
interface Records<State> {
  update<T>(
    name: string,
    change: (state: State | undefined, nowMs: number) => Change<State, T>,
  ): T | Promise<T>;
}

const replaceScript = `if (redis.call('get', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

/**
 * Read, changed here, and replaced unless another process was faster; then again. Redis sets the time. `own` mirrors the last
 * state, and takes over while Redis is away.
 */
export class SharedRecords<State> implements Records<State> {
  readonly #link: RedisLink;
  readonly #kind: string;
  readonly #own: Records<State>;
  readonly #turns = new KeyedMutex();
  /** How far Redis' clock is ahead of this process's. */
  #aheadMs = Date.now() - performance.now();

  constructor(link: RedisLink, kind: string, ownWith: (nowMs: () => number) => Records<State>) {
    this.#link = link;
    this.#kind = kind;
    this.#own = ownWith(() => performance.now() + this.#aheadMs);
  }

  hide(text: string): string {
    return this.#link.hide(text);
  }

  update<T>(name: string, change: (state: State | undefined, nowMs: number) => Change<State, T>): Promise<T> {
    const shared = this.#turns.run(name, () => this.#updateShared(name, change));
    return ifReachable(shared, () => this.#own.update(name, change));
  }

  async #updateShared<T>(
    name: string,
    change: (state: State | undefined, nowMs: number) => Change<State, T>,
  ): Promise<T> {
    const key = `${this.#link.prefixOf(this.#kind)}:${name}`;
    const deadline = performance.now() + limits.redisAnswerMsMax;
    while (performance.now() < deadline) {
      const { text, nowMs } = await this.#read(key);
      const { state, keptMs, result } = change(this.#parse(text), nowMs);
      const after = JSON.stringify(state);
      const replaced = await this.#link.run((client) =>
        client.eval(replaceScript, 1, key, text, after, String(Math.ceil(keptMs))),
      );
      if (replaced !== 1) continue;
      await this.#own.update(name, () => ({ state, keptMs, result: undefined }));
      return result;
    }
    // Too much contention: count here.
    throw new RedisAwayError();
  }

  async #read(key: string): Promise<{ readonly text: string; readonly nowMs: number }> {
    const answers = await this.#link.run(async (client) => {
      const [record, time] = (await client.multi().get(key).time().exec()) ?? [];
      const failure = record?.[0] ?? time?.[0];
      if (failure) throw failure;
      return { text: record?.[1], time: time?.[1] };
    });
    const [seconds, micros] = answers.time as [string, string];
    const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    this.#aheadMs = nowMs - performance.now();
    return { text: typeof answers.text === 'string' ? answers.text : '', nowMs };
  }

  /** An unreadable record starts over. */
  #parse(text: string): State | undefined {
    try {
      return text === '' ? undefined : (JSON.parse(text) as State);
    } catch {
      return undefined;
    }
  }
}
