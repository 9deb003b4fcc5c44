import type { RetryFacts } from '../client/client.ts';

const retryLogMs = 30_000;

interface Outage {
  readonly begunMs: number;
  readonly message: string;
  readonly loggedMs: number;
}

/** Logs the first retry at once, repeats seldom. */
export class RetryLog {
  readonly #writeLine: (line: string) => void;
  readonly #giveUpAfterMs: number;
  readonly #outages = new Map<string, Outage>();

  /** A failing side is retried for `giveUpAfterMs`; Infinity: without limit. */
  constructor(writeLine: (line: string) => void, giveUpAfterMs: number) {
    this.#writeLine = writeLine;
    this.#giveUpAfterMs = giveUpAfterMs;
  }

  failed(side: string, { error: { message }, attempt, delayMs }: RetryFacts): void {
    const nowMs = performance.now();
    const known = this.#outages.get(side);
    if (known?.message === message && nowMs - known.loggedMs < retryLogMs) return;
    this.#outages.set(side, { begunMs: known?.begunMs ?? nowMs, message, loggedMs: nowMs });
    const isEndless = !Number.isFinite(this.#giveUpAfterMs);
    const until = isEndless ? 'until it works' : `for up to ${secondsText(this.#giveUpAfterMs)}`;
    this.#writeLine(
      `${side}: ${message}; retrying ${until}, attempt ${attempt + 1} in ${secondsText(delayMs)}`,
    );
  }

  succeeded(side: string): void {
    const outage = this.#outages.get(side);
    if (outage === undefined) return;
    this.#outages.delete(side);
    this.#writeLine(`${side}: works again after ${secondsText(performance.now() - outage.begunMs)}`);
  }
}

const secondsText = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
