import { computed, signal } from '@preact/signals';
import { sleep } from '../api/rate-limit.ts';
import { get, isAborted, type Parameters, RequestError } from '../api/request.ts';
import type { Rows } from '../api/types.ts';
import { type EventList, rowsPath } from './event-list.ts';
import { limits } from './limits.ts';

/** Who shows the list that is followed. */
export interface Followed {
  /** What the list of now is asked for with. */
  readonly parameters: () => Parameters;
  /** Puts the list of now in the place of the one that is there. */
  readonly advance: (abort: AbortSignal) => Promise<EventList>;
  /** Counts anew over all events, where that is due. */
  readonly count: () => void;
}

/** What came since the list began, by the order of recording: whenever it happened. It rests while the page is not in sight. */
export class Live {
  readonly count = signal(0);
  /** Whether the list is to go on with what comes. */
  readonly isOn = signal(false);
  /** Whether nobody reads anything but the newest rows. */
  readonly isAtTop = signal(true);
  readonly follows = computed(() => this.isOn.value && this.isAtTop.value);
  /** Why the last look failed; undefined once one succeeds. */
  readonly error = signal<RequestError | undefined>(undefined);
  #abort = new AbortController();

  /** Begins with a list. */
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
        // The range moves on, too: events leave it, and those come into it that were dated in the future.
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
        // The next look may succeed.
        this.error.value = error;
      }
    }
  }
}
