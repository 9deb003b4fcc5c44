import { signal } from '@preact/signals';
import { sleep } from '../api/rate-limit.ts';
import { get, isAborted, type Parameters, RequestError } from '../api/request.ts';
import type { FeedPage } from '../api/types.ts';
import { toRfc3339 } from '../api/instant.ts';
import { limits } from './limits.ts';

/** Counts the events that arrive after the list began, by following the feed. It rests while the page is not in sight. */
export class LiveCount {
  readonly count = signal(0);
  #abort = new AbortController();

  /** Begins at a moment (Unix milliseconds), under the filters of the list. */
  start(filters: Parameters, sinceMs: number): void {
    this.stop();
    this.#abort = new AbortController();
    void this.#follow({ ...filters, startTime: toRfc3339(sinceMs * 1000) }, this.#abort.signal);
  }

  stop(): void {
    this.#abort.abort();
    this.count.value = 0;
  }

  async #follow(parameters: Parameters, abort: AbortSignal): Promise<void> {
    let cursor: string | undefined;
    // The first question only finds the place to go on from.
    let wait = 0;
    while (!abort.aborted) {
      try {
        await visible(abort);
        const { data, meta } = await get<FeedPage>(
          '/api/v1/portal/feed',
          {
            ...parameters,
            cursor,
            limit: limits.livePageEvents,
            wait,
          },
          { signal: abort },
        );
        cursor = meta.next_cursor;
        wait = limits.liveWaitSeconds;
        this.count.value += data.length;
      } catch (error) {
        if (isAborted(error)) return;
        if (!(error instanceof RequestError)) throw error;
        // The list tells what is the matter. Here it is enough to go on later, and without a place among those who wait.
        wait = 0;
      }
      await sleep(limits.livePauseMs, abort).catch((error: unknown) => {
        if (!isAborted(error)) throw error;
      });
    }
  }
}

/** Resolves while the page is in sight. */
async function visible(abort: AbortSignal): Promise<void> {
  while (document.hidden && !abort.aborted) {
    await new Promise((resolve) => {
      document.addEventListener('visibilitychange', resolve, { once: true, signal: abort });
      abort.addEventListener('abort', resolve, { once: true });
    });
  }
}
