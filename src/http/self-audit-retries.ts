import { errorFacts, type Logger } from '../base/observability/log.ts';
import { counter, gauge } from '../base/observability/metrics.ts';
import { Problem } from '../base/errors/problem.ts';
import { singleFlight } from '../base/waiting/single-flight.ts';

/** Events of the service itself that happened and could not be recorded yet. */
const selfAuditHeldEventsMax = 1_000;
const selfAuditRetryMs = 1_000;

/** An event of the service itself, ready to be sent. */
export interface PreparedEvent {
  readonly organizationId: string;
  /** JSON of the source event, with the time at which it happened. */
  readonly text: string;
  /** What the operational log may say of it. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Holds events that have happened and could not be recorded, and retries them, oldest first, until each is. */
export class SelfAuditRetries {
  readonly #send: (event: PreparedEvent) => Promise<void>;
  readonly #log: Logger;
  readonly #held: PreparedEvent[] = [];
  readonly #lost = counter(
    'auditlog_self_audit_lost_events_total',
    'Events of the service itself not recorded',
    [],
  );
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (event: PreparedEvent) => Promise<void>, log: Logger) {
    this.#send = send;
    this.#log = log;
    gauge(
      'auditlog_self_audit_held_events',
      'Events of the service itself that wait to be recorded',
      [],
      (metric) => metric.set(this.#held.length),
    );
  }

  count(): number {
    return this.#held.length;
  }

  /** Holds an event that failed with `error`; it is lost where a retry cannot help, and where too many are held. */
  hold(event: PreparedEvent, error: unknown): void {
    if (!mayWorkLater(error) || this.#held.length >= selfAuditHeldEventsMax) return this.#lose(event, error);
    const facts = { ...event.facts, ...errorFacts(error) };
    this.#log.error(facts, 'an event of the service itself waits to be recorded');
    this.#held.push(event);
    this.#schedule();
  }

  /** Resolves when all are recorded, or one of them failed again. */
  readonly retryNow = singleFlight(async (): Promise<void> => {
    clearTimeout(this.#timer);
    await this.#retryAll();
    if (this.#held.length > 0) this.#schedule();
  });

  async stop(): Promise<void> {
    await this.retryNow();
    clearTimeout(this.#timer);
    for (const event of this.#held.splice(0)) this.#lose(event, new Error('the service stops'));
  }

  /** In turn, up to the first that fails: the log takes the others no better. */
  async #retryAll(): Promise<void> {
    for (let event = this.#held[0]; event !== undefined; event = this.#held[0]) {
      try {
        await this.#send(event);
        this.#log.info(event.facts, 'an event of the service itself was recorded late');
      } catch (error) {
        if (mayWorkLater(error)) return;
        this.#lose(event, error);
      }
      this.#held.shift();
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.retryNow(), selfAuditRetryMs).unref();
  }

  #lose({ facts }: PreparedEvent, error: unknown): void {
    this.#lost.inc();
    this.#log.error({ ...facts, ...errorFacts(error) }, 'an event of the service itself cannot be recorded');
  }
}

/** A retry helps where the log was full or failing, not where the event itself is refused. */
function mayWorkLater(error: unknown): boolean {
  return error instanceof Problem && (error.code === 'unavailable' || error.code === 'internal');
}
