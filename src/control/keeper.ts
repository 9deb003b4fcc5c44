import type { Clock } from '../base/clock.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { Repeated } from '../base/repeated.ts';
import { Claim, type ClaimTable } from '../storage/claim.ts';
import type { Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';

/** What whoever takes events away or alters them needs. */
export interface KeeperOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Logger;
  readonly intervalMs: number;
  /** UUID of this process among those that share the engine; undefined where it has one of its own. */
  readonly instance: string | undefined;
  /** Every event below this place of the order of ingest is in the table, and in its tree where there are trees. */
  settledBefore(): Promise<bigint>;
  /** Stores a source event of an organization; resolves once it is durable. */
  record(organization: string, event: object): Promise<void>;
}

/** Which of the processes that share an engine is at it; void after longer than a mutation may take. */
const claims: ClaimTable = {
  table: 'evidence_claims',
  column: 'task',
  type: 'String',
  lastsMs: limits.retentionClaimMsMax,
};

/** Turns at an interval, in which one of the processes that share an engine works at a time. */
export class KeeperTurns {
  readonly #claim: Claim | undefined;
  readonly #turning: Repeated;

  /** `failed` says in the log that a turn rejected; the next one goes on. */
  constructor(
    { storage, instance, intervalMs, log }: KeeperOptions,
    task: 'erasure' | 'retention',
    turn: (signal: AbortSignal) => Promise<void>,
    failed: string,
  ) {
    this.#claim = instance === undefined ? undefined : new Claim(storage, claims, task, instance);
    this.#turning = new Repeated(intervalMs, turn, (error) => log.warn(errorFacts(error), failed));
  }

  /** A mutation that is under way goes on in the engine. */
  stop(): Promise<void> {
    return this.#turning.stop();
  }

  /** Does the work unless another process is at it. Rejects with what it rejects with, or EngineError. */
  async alone(work: () => Promise<void>): Promise<void> {
    const claim = this.#claim;
    if (claim === undefined) return work();
    if ((await claim.rivals()).length > 0 || !(await claim.take())) return;
    try {
      await work();
    } finally {
      await claim.withdraw();
    }
  }
}
