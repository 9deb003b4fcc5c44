import type { Clock } from '../base/time/clock.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { counter } from '../base/observability/metrics.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import type { Directory } from './directory.ts';
import { Lease } from '../storage/lease.ts';
import type { Storage } from '../storage/storage.ts';

export interface ReconcilerOptions {
  readonly storage: Storage;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly intervalMs: number;
  /** UUID of this server; undefined with the embedded engine. */
  readonly instance: string | undefined;
  /** By organization: events with lower order numbers are in the table and the tree. One tree may stand still. */
  watermarks(): Promise<(organization: string) => bigint>;
  /** Stores a source event durably. */
  record(organization: string, event: object): Promise<void>;
}

/** Turns at an interval; of the servers that share an engine one works at a time. */
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

  /** `failed`: the log line for a failed turn; the next one goes on. */
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

  /** The engine continues a running mutation. */
  stop(): Promise<void> {
    return this.#turning.stop();
  }

  /** Does the work unless another process has the lease. Rejects as `work`, or with EngineError. */
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
   * One job, for one organization, unless another process has the lease now. A failure is reported, so that one organization
   * delays no other.
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

  /** Logs a failure that a later turn retries. */
  report(error: unknown, facts: Readonly<Record<string, string>> = {}): void {
    this.#failures.inc({ task: this.#task });
    this.#options.log.warn({ ...facts, ...errorFacts(error) }, this.#failed);
  }
}
