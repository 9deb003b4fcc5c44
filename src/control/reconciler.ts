import type { Clock } from '../base/time/clock.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { counter } from '../base/observability/metrics.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import type { Directory } from './directory.ts';
import { Lease } from '../storage/lease.ts';
import type { Storage } from '../storage/storage.ts';

/** What whoever takes events away or alters them needs. */
export interface ReconcilerOptions {
  readonly storage: Storage;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly intervalMs: number;
  /** UUID of this process among those that share the engine; undefined where it has one of its own. */
  readonly instance: string | undefined;
  /**
   * Every event of an organization below this place of the order of ingest is in the table, and in its tree where there are
   * trees: each has a place of its own, as one tree may stand still.
   */
  watermarks(): Promise<(organization: string) => bigint>;
  /** Stores a source event of an organization; resolves once it is durable. */
  record(organization: string, event: object): Promise<void>;
}

/** Turns at an interval, in which one of the processes that share an engine works at a time. */
export class ReconcilerLoop {
  readonly #options: ReconcilerOptions;
  readonly #task: 'erasure' | 'retention';
  readonly #failed: string;
  readonly #lease: Lease | undefined;
  readonly #failures = counter(
    'auditlog_jobs_failed_total',
    'Work on one organization that failed and is taken up again, by task.',
    ['task'],
  );
  readonly #turning: Repeated;

  /** `failed` says in the log that a turn rejected; the next one goes on. */
  constructor(
    options: ReconcilerOptions,
    task: 'erasure' | 'retention',
    turn: (signal: AbortSignal) => Promise<void>,
    failed: string,
  ) {
    this.#options = options;
    this.#task = task;
    this.#failed = failed;
    const { storage, instance, intervalMs, log } = options;
    this.#lease =
      instance === undefined ? undefined : new Lease({ storage, name: task, owner: instance, log });
    this.#turning = new Repeated(intervalMs, turn, (error) => log.warn(errorFacts(error), failed));
  }

  /** A mutation that is under way goes on in the engine. */
  stop(): Promise<void> {
    return this.#turning.stop();
  }

  /** Does the work unless another process is at it. Rejects with what it rejects with, or EngineError. */
  async alone(work: () => Promise<void>): Promise<void> {
    const lease = this.#lease;
    if (lease === undefined) return work();
    if (!(await lease.take())) return;
    try {
      await work();
    } finally {
      await lease.end();
    }
  }

  /**
   * Does one job of a turn, of one organization, unless another process has taken over. Its failure is reported, and
   * kept from the jobs behind it: so one organization holds up no other.
   */
  async job(
    facts: Readonly<Record<string, string>>,
    signal: AbortSignal | undefined,
    work: () => Promise<void>,
  ): Promise<void> {
    await this.#lease?.check();
    try {
      await work();
    } catch (error) {
      if (signal?.aborted === true) throw error;
      this.report(error, facts);
    }
  }

  /** Says that some of a turn failed, and is for a later one. */
  report(error: unknown, facts: Readonly<Record<string, string>> = {}): void {
    this.#failures.inc({ task: this.#task });
    this.#options.log.warn({ ...facts, ...errorFacts(error) }, this.#failed);
  }
}
