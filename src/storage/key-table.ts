import { limits } from './limits.ts';
import type { Storage } from './storage.ts';

/** A claim on an Idempotency-Key, as processes on one engine see it (`state` as in 0003_writers.sql). */
export interface KeyRow {
  readonly id: string;
  /** UUID of its own. */
  readonly claim: string;
  /** UUID of the process that made it. */
  readonly instance: string;
  readonly state: 1 | 2 | 3;
  readonly sent: string;
  /** JSON; empty until it is answered. */
  readonly answer: string;
}

const columns = 'id, claim, instance, state, sent, answer';
/** Who was fenced with a claim is not waited for (see `renumberLog` on what becomes of it in its log). */
const counts = 'state != 1 OR instance NOT IN (SELECT instance FROM fenced_writers)';
/** An engine whose clock is behind dates claims of now by that. */
const begin = `least(fromUnixTimestamp64Milli({from:Int64}), now64(3) - toIntervalMillisecond(${limits.keyWindowMs}))`;
const inWindow = `at > ${begin}`;

/** The table of claims. All reject with EngineError. */
export class KeyTable {
  readonly #storage: Storage;
  readonly #nowMs: () => number;

  /** `nowMs`: the time that has passed for certain, Unix milliseconds, as a clock that jumps must forget nothing. */
  constructor(storage: Storage, nowMs: () => number) {
    this.#storage = storage;
    this.#nowMs = nowMs;
  }

  /** Resolves when every later read, by whomever, sees the rows. */
  async put(rows: readonly KeyRow[]): Promise<void> {
    await this.#storage.insertRows('idempotency_keys', rows, { timeoutMs: limits.keyAskMsMax });
  }

  /** All claims on some ids, of the last 24 hours, of whoever was not fenced. */
  read(ids: readonly string[]): Promise<KeyRow[]> {
    return this.#storage.rows<KeyRow>(
      `SELECT ${columns} FROM idempotency_keys FINAL WHERE id IN {ids:Array(String)} AND ${inWindow} AND (${counts})`,
      { ids, from: this.#fromMs },
      { timeoutMs: limits.keyAskMsMax },
    );
  }

  /** Which of some ids another process than `instance` has answered. */
  async answeredByOthers(ids: readonly string[], instance: string): Promise<Set<string>> {
    const rows = ids.length === 0 ? [] : await this.read(ids);
    return new Set(rows.filter((row) => row.state === 3 && row.instance !== instance).map(({ id }) => id));
  }

  /** Claims of a process that it has neither withdrawn nor answered. */
  unresolved(instance: string): Promise<KeyRow[]> {
    return this.#storage.rows<KeyRow>(
      `SELECT ${columns} FROM idempotency_keys FINAL WHERE instance = {instance:UUID} AND state = 1 AND ${inWindow}`,
      { instance, from: this.#fromMs },
    );
  }

  /** Removes what no longer counts, a day's at once, as the engine writes anew each part that has some of it. */
  async forget(): Promise<void> {
    const [over] = await this.#storage.rows<{ begin: string }>(
      `SELECT toString(toUnixTimestamp64Milli(${begin})) AS begin FROM idempotency_keys
       WHERE at < ${begin} - toIntervalMillisecond(${limits.keyForgottenAtOnceMs}) LIMIT 1`,
      { from: this.#fromMs },
    );
    if (over === undefined) return;
    const statement =
      'ALTER TABLE idempotency_keys DELETE WHERE at < fromUnixTimestamp64Milli({before:Int64})';
    await this.#storage.command(statement, { before: Number(over.begin) - limits.keyForgetEveryMs });
  }

  get #fromMs(): number {
    return Math.floor(this.#nowMs()) - limits.keyWindowMs;
  }
}
