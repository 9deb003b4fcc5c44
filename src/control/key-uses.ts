import type { Clock } from '../base/time/clock.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { formatMicros } from '../base/time/timestamp.ts';
import type { Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';

/** Time between writes of when keys were last used. */
const keyUsesWriteMs = 60_000;
const keyUsesWriteMsMax = 2_000;

export interface KeyUsesDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * When keys were last used. Uses are counted in memory, one entry a key, and written together once in
 * `keyUsesWriteMs`: a request never waits for it, and a kill costs a minute of it (contract: Credentials).
 */
export class KeyUses {
  readonly #deps: KeyUsesDeps;
  /** Unix microseconds by id: what the table does not have yet. */
  #unwritten = new Map<string, number>();
  #writing: Repeated | undefined;

  constructor(deps: KeyUsesDeps) {
    this.#deps = deps;
  }

  /** Somebody has presented this key, and it was good. */
  note(id: string): void {
    this.#unwritten.set(id, this.#deps.clock());
  }

  start(): void {
    const failed = (error: unknown) =>
      this.#warn(error, 'the last uses of API keys could not be written; kept');
    this.#writing ??= new Repeated(keyUsesWriteMs, () => this.write(), failed);
  }

  /** Writes what is left. Where the engine is gone already, a minute of uses is, too, as after a kill. */
  async stop(): Promise<void> {
    await this.#writing?.stop();
    await this.write().catch((error: unknown) =>
      this.#warn(error, 'the last uses of API keys are not written: the engine does not take them'),
    );
  }

  #warn(error: unknown, words: string): void {
    this.#deps.log.warn(errorFacts(error), words);
  }

  /** Rejects with EngineError, and then nothing is lost. */
  async write(): Promise<void> {
    const uses = this.#unwritten;
    this.#unwritten = new Map();
    const rows = Array.from(uses, ([id, micros]) => ({
      id,
      used_at: formatMicros(micros).replace('T', ' ').slice(0, -1),
    }));
    try {
      const options = { timeoutMs: keyUsesWriteMsMax };
      await this.#deps.storage.insertRows('api_key_uses', rows, options);
    } catch (error) {
      this.#unwritten = new Map([...uses, ...this.#unwritten]);
      throw error;
    }
  }

  /** Unix microseconds of the last use of those of the keys that have been used. Rejects with EngineError. */
  async lastUses(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const uses = new Map<string, number>();
    for (let at = 0; at < ids.length; at += limits.controlIdsAtOnceMax) {
      const rows = await this.#deps.storage.rows<{ readonly id: string; readonly micros: string }>(
        'SELECT id, toUnixTimestamp64Micro(max(used_at)) AS micros FROM api_key_uses WHERE id IN {ids:Array(String)} GROUP BY id',
        { ids: ids.slice(at, at + limits.controlIdsAtOnceMax) },
      );
      for (const { id, micros } of rows) uses.set(id, Number(micros));
    }
    for (const id of ids) {
      const unwritten = this.#unwritten.get(id);
      if (unwritten !== undefined) uses.set(id, unwritten);
    }
    return uses;
  }
}
