import type { Logger } from '../base/log.ts';
import { errorFacts } from '../base/log.ts';
import { Claim, type ClaimTable } from '../storage/claim.ts';
import type { Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';

const claims: ClaimTable = {
  table: 'evidence_claims',
  column: 'task',
  type: 'String',
  lastsMs: limits.claimMsMax,
};

/**
 * Which of the processes that share an engine adds to the trees. What they would add is the same, as it follows from the
 * table of events; so two at once, which a process that slept beyond its claim could bring about, would do the work
 * twice and no more.
 */
export class Turns {
  readonly #claim: Claim | undefined;
  readonly #log: Logger;
  #renewing: NodeJS.Timeout | undefined;

  /** `instance` is undefined where this process has the engine for itself. */
  constructor(storage: Storage, instance: string | undefined, log: Logger) {
    this.#claim = instance === undefined ? undefined : new Claim(storage, claims, 'trees', instance);
    this.#log = log;
  }

  /** True when this process is the one. `isNew`: it was not before, so others may have added. Rejects with EngineError. */
  async isOurs(): Promise<{ readonly ours: boolean; readonly isNew: boolean }> {
    const claim = this.#claim;
    if (claim === undefined) return { ours: true, isNew: false };
    const rivals = await claim.rivals();
    const held = this.#renewing !== undefined;
    if (held && rivals.length === 0) return { ours: true, isNew: false };
    await this.end();
    const ours = rivals.length === 0 && (await claim.take());
    if (ours) this.#renewing = setInterval(() => this.#renew(claim), limits.claimRenewMs);
    return { ours, isNew: true };
  }

  /** Gives the turn to whoever asks next. */
  async end(): Promise<void> {
    if (this.#renewing === undefined) return;
    clearInterval(this.#renewing);
    this.#renewing = undefined;
    await this.#claim?.withdraw();
  }

  #renew(claim: Claim): void {
    claim.renew().catch((error: unknown) => {
      this.#log.debug(errorFacts(error), 'the claim to the trees of evidence could not be renewed yet');
    });
  }
}
