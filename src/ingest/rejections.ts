import { FifoMap } from '../base/waiting/fifo-map.ts';
import type { Logger } from '../base/observability/log.ts';
import { limits } from './limits.ts';

/** Kinds of rules that reject events: few enough for labels of a metric (contract: Ingest). */
export type RejectionReason =
  | 'json'
  | 'encoding'
  | 'size'
  | 'object'
  | 'required'
  | 'time'
  | 'retention'
  | 'organization'
  | 'value';

export interface Rejection {
  readonly reason: RejectionReason;
  readonly events: number;
  /** Pointer and rule of the first one; never content. */
  readonly first: string;
}

const ruleCharactersMax = 200;
const nextPointer = /; (?=\/)/;
/** Begins an error about a whole event, which has no pointer. */
const ofWhole = /^the (?:event|record) /;

/** The reason of a mapper's error (`faultText`): that of the first of its rules, which are joined by `; `. */
export function reasonOf(error: string): RejectionReason {
  if (ofWhole.test(error)) return reasonOfWhole(error.replace(ofWhole, ''));
  const first = firstOf(error);
  if (first.includes('retention')) return 'retention';
  if (first.startsWith('/message/org:')) return 'organization';
  if (first.endsWith(': is required')) return 'required';
  return first.startsWith('/time:') || first.startsWith('/message/timestamp:') ? 'time' : 'value';
}

function reasonOfWhole(rule: string): RejectionReason {
  if (rule.startsWith('is not acceptable JSON')) return 'json';
  if (rule.startsWith('is not valid UTF-8')) return 'encoding';
  if (rule.startsWith('must be at most')) return 'size';
  return /^must be (?:an|a JSON) object/.test(rule) ? 'object' : 'value';
}

function firstOf(error: string): string {
  return error.split(nextPointer, 1)[0] ?? error;
}

export class RejectionCounts {
  readonly #byReason = new Map<RejectionReason, { -readonly [K in keyof Rejection]: Rejection[K] }>();

  add(error: string): void {
    const reason = reasonOf(error);
    const known = this.#byReason.get(reason);
    if (known !== undefined) known.events += 1;
    else this.#byReason.set(reason, { reason, events: 1, first: firstOf(error).slice(0, ruleCharactersMax) });
  }

  addAll(rejections: readonly Rejection[]): void {
    for (const more of rejections) {
      const known = this.#byReason.get(more.reason);
      if (known !== undefined) known.events += more.events;
      else this.#byReason.set(more.reason, { ...more });
    }
  }

  list(): readonly Rejection[] {
    return [...this.#byReason.values()];
  }
}

interface Logged {
  readonly apiKey: string | undefined;
  readonly reason: RejectionReason;
  readonly atMs: number;
  leftOut: number;
}

/**
 * Logs rejected events (contract: Ingest): the first of each API key and reason in a minute with its pointer
 * and rule, the others as a number when the minute is over. Never logs content.
 */
export class RejectionLog {
  readonly #log: Logger;
  readonly #nowMs: () => number;
  readonly #logged = new FifoMap<Logged>();
  readonly #timer: NodeJS.Timeout;

  /** `nowMs` must be monotonic. */
  constructor(log: Logger, nowMs: () => number) {
    this.#log = log;
    this.#nowMs = nowMs;
    this.#timer = setInterval(() => this.#endOld(), limits.rejectionLogMs);
    this.#timer.unref();
  }

  add(apiKey: string | undefined, rejections: readonly Rejection[]): void {
    if (rejections.length > 0) this.#endOld();
    for (const { reason, events, first } of rejections) {
      const id = `${apiKey ?? ''} ${reason}`;
      const known = this.#logged.get(id);
      if (known !== undefined) {
        known.leftOut += events;
        continue;
      }
      this.#log.warn({ api_key: apiKey, reason, rule: first }, 'An event was rejected');
      this.#logged.set(id, { apiKey, reason, atMs: this.#nowMs(), leftOut: events - 1 });
      if (this.#logged.size > limits.rejectionLogKeysMax) this.#endOldest();
    }
  }

  close(): void {
    clearInterval(this.#timer);
    while (this.#logged.size > 0) this.#endOldest();
  }

  #endOld(): void {
    const beforeMs = this.#nowMs() - limits.rejectionLogMs;
    while ((this.#logged.oldest()?.atMs ?? Number.POSITIVE_INFINITY) <= beforeMs) this.#endOldest();
  }

  #endOldest(): void {
    const ended = this.#logged.removeOldest();
    if (ended === undefined || ended.leftOut === 0) return;
    const { apiKey, reason, leftOut } = ended;
    this.#log.warn({ api_key: apiKey, reason, events: leftOut }, 'Further events were rejected');
  }
}
