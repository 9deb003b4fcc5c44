import type { Clock } from '../base/time/clock.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { formatMicros } from '../base/time/timestamp.ts';
import type { Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';

const keyUsesWriteMs = 60_000;
const keyUsesWriteMsMax = 2_000;

export interface KeyUsesDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * When keys were last used. Uses are kept in memory and written once in `keyUsesWriteMs`, so no request waits, and a kill
 * loses a minute of them (contract: Credentials).
 */
export class KeyUses {
  readonly #deps: KeyUsesDeps;
  /** Unix microseconds by id. */
  #unwritten = new Map<string, number>();
  #writing: Repeated | undefined;

  constructor(deps: KeyUsesDeps) {
    this.#deps = deps;
  }

  note(id: string): void {
    this.#unwritten.set(id, this.#deps.clock());
  }

  start(): void {
    const failed = (error: unknown) =>
      this.#warn(error, 'the last uses of API keys could not be written; kept');
    this.#writing ??= new Repeated(keyUsesWriteMs, () => this.write(), failed);
  }

  /** Writes the rest. Without an engine the last minute is lost, as after a kill. */
  async stop(): Promise<void> {
    await this.#writing?.stop();
    await this.write().catch((error: unknown) =>
      this.#warn(error, 'the last uses of API keys are not written: the engine does not take them'),
    );
  }

  #warn(error: unknown, words: string): void {
    this.#deps.log.warn(errorFacts(error), words);
  }

  /** Keeps the uses if it rejects with EngineError. */
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

  /** Unix microseconds by id, without unused keys. Rejects with EngineError. */
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
