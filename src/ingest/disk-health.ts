import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Problem } from '../base/errors/problem.ts';

/** What clients are told while the log is full. */
const walRetryAfterSeconds = 5;
/** Time between tries of a log that could not be written. */
const walProbeMs = 1_000;

export function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('unavailable', detail, { retryAfterSeconds: walRetryAfterSeconds, cause });
}

/** Whether the disk takes the log's writes. After a failure it probes until one works. */
export class DiskHealth {
  readonly #log: Logger;
  /** A write of its own: an idle log must not look broken for ever after one fault. */
  readonly #probe: () => Promise<void>;
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(log: Logger, probe: () => Promise<void>) {
    this.#log = log;
    this.#probe = probe;
  }

  /** Undefined while writes work; otherwise the code of the error, or words. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Does work that writes; rejects with a 503 Problem when that fails. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.#failure = undefined;
      return result;
    } catch (error) {
      this.fail(errorFacts(error).code ?? 'the disk fails');
      throw unavailable('The events could not be made durable; try again later.', error);
    }
  }

  fail(why: string): void {
    this.#failure = why;
    if (this.#isStopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#probe().catch((error: unknown) => this.#log.debug(errorFacts(error), 'the log still fails'));
    }, walProbeMs);
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}
