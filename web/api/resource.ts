import { computed, type Signal, signal } from '@preact/signals';
import { sleep } from './rate-limit.ts';
import { brokenAnswer, isAborted, RequestError } from './request.ts';

/** After a failure a view retries, each time after a longer pause. */
const retryMsMin = 2_000;
const retryMsMax = 30_000;

type Question<T> = (signal: AbortSignal) => Promise<T>;

/** An answer for a view: retried if it failed for now, and given up when the next question comes. */
export class Resource<T> {
  /** The newest answer; the previous one stays until then. */
  readonly data: Signal<T | undefined> = signal(undefined);
  readonly error: Signal<RequestError | undefined> = signal(undefined);
  readonly isLoading = signal(false);
  /** Unix milliseconds of the next retry after an error; undefined if there is none. */
  readonly retryAt: Signal<number | undefined> = signal(undefined);
  /** `data` answers an earlier question. */
  readonly isStale = computed(
    () =>
      this.data.value !== undefined &&
      ((this.isLoading.value && !this.#isQuiet.value) || this.error.value !== undefined),
  );
  readonly #isQuiet = signal(false);
  #question: Question<T> | undefined;
  #abort = new AbortController();
  #again: (() => void) | undefined;

  /** Asks instead of the former question. `isQuiet`: the current answer stays valid and does not fade. */
  async load(question: Question<T>, { isQuiet = false } = {}): Promise<void> {
    this.stop();
    const { signal } = (this.#abort = new AbortController());
    this.#question = question;
    this.#isQuiet.value = isQuiet;
    this.isLoading.value = true;
    for (let delay: number = retryMsMin; !signal.aborted; delay = Math.min(delay * 2, retryMsMax)) {
      try {
        const data = await question(signal);
        if (signal.aborted) return;
        this.data.value = data;
        this.#settle(undefined);
        return;
      } catch (error) {
        if (signal.aborted || isAborted(error)) return;
        if (!(error instanceof RequestError)) {
          // A defect of the page: the view shows a failure, and the browser's log has the cause.
          this.#settle(brokenAnswer());
          throw error;
        }
        this.#settle(error);
        if (error.kind === 'refused' || error.kind === 'lost') return;
        await this.#pause(Math.max(delay, (error.retryAfterSeconds ?? 0) * 1000), signal);
      }
    }
  }

  /** Retries at once. */
  retry(): void {
    if (this.#again !== undefined) this.#again();
    else if (this.#question !== undefined) void this.load(this.#question);
  }

  stop(): void {
    this.#abort.abort();
    this.#settle(undefined);
  }

  #settle(error: RequestError | undefined): void {
    this.isLoading.value = false;
    this.error.value = error;
    this.retryAt.value = undefined;
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    this.retryAt.value = Date.now() + ms;
    const early = new Promise<void>((resolve) => (this.#again = resolve));
    await Promise.race([sleep(ms, signal), early]).catch((error: unknown) => {
      if (!isAborted(error)) throw error;
    });
    this.#again = undefined;
    this.retryAt.value = undefined;
  }
}
