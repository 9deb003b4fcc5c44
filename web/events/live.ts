import { computed, signal } from '@preact/signals';
import { sleep } from '../api/rate-limit.ts';
import { get, isAborted, type Parameters, RequestError } from '../api/request.ts';
import type { Rows } from '../api/types.ts';
import { type EventList, rowsPath } from './event-list.ts';
import { limits } from './limits.ts';

/** Puts the list of now in the place of the one that is there. */
type Advance = (abort: AbortSignal) => Promise<EventList>;

/** What came since the list began, by the order of recording: whenever it happened. It rests while the page is not in sight. */
export class Live {
  readonly count = signal(0);
  /** Whether the list is to go on with what comes. */
  readonly isOn = signal(false);
  /** Whether nobody reads anything but the newest rows. */
  readonly isAtTop = signal(true);
  readonly follows = computed(() => this.isOn.value && this.isAtTop.value);
  #abort = new AbortController();

  /** Begins with a list under these parameters, without an end of the range. */
  start(list: EventList, parameters: Parameters, advance: Advance): void {
    this.stop();
    this.#abort = new AbortController();
    void this.#watch(list, parameters, advance, this.#abort.signal);
  }

  stop(): void {
    this.#abort.abort();
    this.count.value = 0;
  }

  async #watch(
    begun: EventList,
    parameters: Parameters,
    advance: Advance,
    abort: AbortSignal,
  ): Promise<void> {
    let list = begun;
    while (!abort.aborted) {
      try {
        await sleep(this.follows.value ? limits.followPauseMs : limits.livePauseMs, abort);
        if (document.hidden) continue;
        const { settled, unsettled } = list.counted;
        const since = { ...parameters, since: settled, limit: 1 };
        const { meta } = await get<Rows>(rowsPath, since, { signal: abort });
        abort.throwIfAborted();
        this.count.value = Math.max(0, meta.total - unsettled);
        if (this.count.value === 0 || !this.follows.value) continue;
        list = await advance(abort);
        this.count.value = 0;
      } catch (error) {
        // The list tells what is the matter. Here it is enough to go on later.
        if (!(error instanceof RequestError) && !isAborted(error)) throw error;
      }
    }
  }
}
