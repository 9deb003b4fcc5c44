import type { Logger } from '../base/log.ts';
import { HeldClaim } from '../storage/claim.ts';
import type { Storage } from '../storage/storage.ts';

/**
 * Which of the processes that share an engine adds to the trees. What they would add is the same, as it follows from the
 * table of events; so two at once, which a process that slept beyond its claim could bring about, would do the work
 * twice and no more.
 */
export class Turns {
  readonly #storage: Storage;
  readonly #instance: string | undefined;
  readonly #log: Logger;
  #held: HeldClaim | undefined;

  /** `instance` is undefined where this process has the engine for itself. */
  constructor(storage: Storage, instance: string | undefined, log: Logger) {
    this.#storage = storage;
    this.#instance = instance;
    this.#log = log;
  }

  /** True when this process is the one. `isNew`: it was not before, so others may have added. Rejects with EngineError. */
  async isOurs(): Promise<{ readonly ours: boolean; readonly isNew: boolean }> {
    if (this.#instance === undefined) return { ours: true, isNew: false };
    if (this.#held?.isOurs === true) return { ours: true, isNew: false };
    await this.end();
    this.#held = await HeldClaim.take(this.#storage, 'trees', this.#instance, this.#log);
    return { ours: this.#held !== undefined, isNew: true };
  }

  /** Gives the turn to whoever asks next. */
  async end(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    await held?.release();
  }
}
