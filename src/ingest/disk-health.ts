import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Problem } from '../base/errors/problem.ts';

const walRetryAfterSeconds = 5;
const walProbeMs = 1_000;

export function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('unavailable', detail, { retryAfterSeconds: walRetryAfterSeconds, cause });
}

/** Whether the disk takes the log's writes. After a failure it probes until one works. */
export class DiskHealth {
  readonly #log: Logger;
  /** Writes to the log: an idle log must not look broken for ever after one fault. */
  readonly #probe: () => Promise<void>;
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(log: Logger, probe: () => Promise<void>) {
    this.#log = log;
    this.#probe = probe;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.#failure = undefined;
      return result;
    } catch (error) {
      this.fail(errorFacts(error).code ?? 'the disk fails');
      throw unavailable('The events could not be written to disk; try again later.', error);
    }
  }

  fail(why: string): void {
    this.#failure = why;
    if (this.#isStopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#probe().catch((error: unknown) =>
        this.#log.debug(errorFacts(error), 'The write-ahead log still fails'),
      );
    }, walProbeMs);
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}
