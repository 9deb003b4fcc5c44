import { errorFacts, type Logger } from '../base/observability/log.ts';
import { counter, gauge } from '../base/observability/metrics.ts';
import { Problem } from '../base/errors/problem.ts';
import { singleFlight } from '../base/waiting/single-flight.ts';

const selfAuditQueueMax = 1_000;
const selfAuditRetryMs = 1_000;

export interface PreparedEvent {
  readonly organizationId: string;
  /** With the time at which it happened. */
  readonly text: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Retries events that happened and could not be recorded, oldest first. */
export class SelfAuditRetries {
  readonly #send: (event: PreparedEvent) => Promise<void>;
  readonly #log: Logger;
  readonly #queue: PreparedEvent[] = [];
  readonly #lost = counter('auditlog_self_audit_lost_events_total', 'Self-audit events lost', []);
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (event: PreparedEvent) => Promise<void>, log: Logger) {
    this.#send = send;
    this.#log = log;
    gauge('auditlog_self_audit_held_events', 'Self-audit events waiting for a retry', [], (metric) =>
      metric.set(this.#queue.length),
    );
  }

  count(): number {
    return this.#queue.length;
  }

  /** Loses the event if a retry cannot help or the queue is full. */
  hold(event: PreparedEvent, error: unknown): void {
    if (!mayWorkLater(error) || this.#queue.length >= selfAuditQueueMax) return this.#lose(event, error);
    const facts = { ...event.facts, ...errorFacts(error) };
    this.#log.error(facts, 'A self-audit event could not be recorded; will retry');
    this.#queue.push(event);
    this.#schedule();
  }

  readonly retryNow = singleFlight(async (): Promise<void> => {
    clearTimeout(this.#timer);
    await this.#retryAll();
    if (this.#queue.length > 0) this.#schedule();
  });

  async stop(): Promise<void> {
    await this.retryNow();
    clearTimeout(this.#timer);
    for (const event of this.#queue.splice(0)) this.#lose(event, new Error('the service stops'));
  }

  /** Stops at the first failure: the log would refuse the others as well. */
  async #retryAll(): Promise<void> {
    for (let event = this.#queue[0]; event !== undefined; event = this.#queue[0]) {
      try {
        await this.#send(event);
        this.#log.info(event.facts, 'A delayed self-audit event was recorded');
      } catch (error) {
        if (mayWorkLater(error)) return;
        this.#lose(event, error);
      }
      this.#queue.shift();
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.retryNow(), selfAuditRetryMs).unref();
  }

  #lose({ facts }: PreparedEvent, error: unknown): void {
    this.#lost.inc();
    this.#log.error({ ...facts, ...errorFacts(error) }, 'A self-audit event was lost');
  }
}

function mayWorkLater(error: unknown): boolean {
  return error instanceof Problem && (error.code === 'unavailable' || error.code === 'internal');
}
