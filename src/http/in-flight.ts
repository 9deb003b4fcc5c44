import { errorFacts, type Logger } from '../base/observability/log.ts';
import { limits } from './limits.ts';
import type { HttpServer } from './server.ts';
import type { Ingest } from '../ingest/ingest.ts';
import { limits as ingestLimits } from '../ingest/limits.ts';

/** Counts requests that are being answered, and tells when there are none. */
export class InFlight {
  #count = 0;
  #onEmpty = (): void => {};

  get count(): number {
    return this.#count;
  }

  begin(): void {
    this.#count++;
  }

  end(): void {
    this.#count--;
    if (this.#count === 0) this.#onEmpty();
  }

  /** True once there are none, false when that takes longer than the milliseconds; to be asked once. */
  emptied(timeoutMs: number): Promise<boolean> {
    if (this.#count === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}

/** The end of a server that accepts nothing more: answers what it has begun, and gives the engine what is in the log. */
export async function drain(server: HttpServer, ingest: Ingest, log: Logger): Promise<void> {
  const answered = await server.drained(limits.shutdownRequestsMsMax);
  const flushed = await ingest.flush(ingestLimits.shutdownFlushMsMax).catch((error: unknown) => {
    log.warn(errorFacts(error), 'the log could not be sealed');
    return false;
  });
  const words = flushed ? 'drained' : 'stopped with events in the log; the next start sends them';
  log.info({ answered, flushed }, words);
}
