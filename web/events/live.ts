import { computed, signal } from '@preact/signals';
import { sleep } from '../api/rate-limit.ts';
import { get, isAborted, type Parameters, RequestError } from '../api/request.ts';
import type { Rows } from '../api/types.ts';
import { type EventList, rowsPath } from './event-list.ts';
import { limits } from './limits.ts';

export interface Followed {
  readonly parameters: () => Parameters;
  readonly advance: (abort: AbortSignal) => Promise<EventList>;
  /** Refreshes the counts over all events, if due. */
  readonly count: () => void;
}

/** Counts events recorded since the list began, whenever they happened. It pauses while the page is hidden. */
export class Live {
  readonly count = signal(0);
  readonly isOn = signal(false);
  readonly isAtTop = signal(true);
  readonly follows = computed(() => this.isOn.value && this.isAtTop.value);
  /** Why the last check failed; undefined after a success. */
  readonly error = signal<RequestError | undefined>(undefined);
  #abort = new AbortController();

  start(list: EventList, followed: Followed): void {
    this.stop();
    this.#abort = new AbortController();
    void this.#watch(list, followed, this.#abort.signal);
  }

  stop(): void {
    this.#abort.abort();
    this.count.value = 0;
    this.error.value = undefined;
  }

  async #watch(begun: EventList, followed: Followed, abort: AbortSignal): Promise<void> {
    let list = begun;
    let listedAtMs = Date.now();
    while (!abort.aborted) {
      try {
        await sleep(this.follows.value ? limits.followPauseMs : limits.livePauseMs, abort);
        if (document.hidden) continue;
        const { settled, unsettled } = list.counted;
        const since = { ...followed.parameters(), since: settled, limit: 1 };
        const { meta } = await get<Rows>(rowsPath, since, { signal: abort });
        abort.throwIfAborted();
        this.count.value = Math.max(0, meta.total - unsettled);
        // The range moves as well: events leave it, and events dated in the future enter it.
        const isOld = Date.now() > listedAtMs + limits.followAgainMs;
        if (this.follows.value && (isOld || this.count.value > 0)) {
          list = await followed.advance(abort);
          listedAtMs = Date.now();
          this.count.value = 0;
        }
        followed.count();
        this.error.value = undefined;
      } catch (error) {
        if (isAborted(error)) continue;
        if (!(error instanceof RequestError)) throw error;
        // The next check may succeed.
        this.error.value = error;
      }
    }
  }
}
