import { formatMicros } from '../../base/time/timestamp.ts';
import { eventIdentity } from '../../client/client.ts';
import { pause } from '../../client/retry.ts';
import {
  type Batch,
  type ForwardedEvent,
  type KnownEvent,
  eventMicros,
  oneLine,
  type Position,
  shortHash,
} from './batch.ts';
import type { SourceOptions } from './feed-source.ts';

const forwardSliceEventsMax = 10_000;
/** Events of one microsecond, which cannot be split. */
const forwardInstantEventsMax = 200_000;
const forwardSliceTriesMax = 5;
/** Remembered events of the overlap; with more, the overlap shrinks. */
const forwardKnownEventsMax = 50_000;

type PagePosition = Extract<Position, { mode: 'pages' }>;

export interface PageSourceOptions extends SourceOptions {
  readonly intervalMs: number;
  readonly overlapMicros: number;
  readonly now: () => number;
  readonly warn: (text: string) => void;
}

interface Slice {
  readonly from: number;
  readonly to: number;
}

type TimedLines = { readonly text: string; readonly time: number }[];

/**
 * Follows a server without a feed by limit and offset (contract: What the service does). Each read covers the
 * time since the last one and an overlap for late events; delivered events are remembered. Long ranges are
 * split and delivered oldest first. A future event waits for its time.
 */
export class PageSource {
  readonly #options: PageSourceOptions;
  readonly #known: KnownEvents;
  #through: number | undefined;

  constructor(options: PageSourceOptions, start: PagePosition) {
    this.#options = options;
    this.#known = new KnownEvents(start.knownFrom, start.known);
    this.#through = start.through;
  }

  async *batches(): AsyncGenerator<Batch> {
    const { once, now, intervalMs, signal } = this.#options;
    for (;;) {
      const { from } = this.#known;
      const slices: Slice[] = [{ from, to: Math.max(from, now()) }];
      for (let slice = slices.pop(); slice !== undefined; slice = slices.pop()) {
        const lines = await this.#read(slice);
        if (lines === 'too many') {
          const middle = Math.floor((slice.from + slice.to) / 2);
          slices.push({ from: middle + 1, to: slice.to }, { from: slice.from, to: middle });
        } else yield* this.#deliveries(slice, lines);
      }
      if (once) return;
      await pause(intervalMs, signal);
    }
  }

  /**
   * All events of a slice, oldest first. Repeated if their number changed: a late event shifts later pages.
   */
  async #read({ from, to }: Slice): Promise<TimedLines | 'too many'> {
    const { client, filter, schema, batchEvents: limit, signal } = this.#options;
    const query = { ...filter, schema, startTime: formatMicros(from), endTime: formatMicros(to), limit };
    for (let tries = 1; ; tries++) {
      const isLastTry = tries >= forwardSliceTriesMax;
      const lines: TimedLines = [];
      let total: number | undefined;
      let isStill = true;
      for await (const page of client.pages(query, { signal })) {
        total ??= page.total;
        if (total > forwardSliceEventsMax && from !== to) return 'too many';
        if (total > forwardInstantEventsMax)
          throw new Error(
            `${total} events at one instant are too many to distinguish; use a server with a feed`,
          );
        page.texts.forEach((text, index) =>
          lines.push({ text, time: eventMicros(page.events[index], schema) }),
        );
        isStill = page.total === total;
        if (!isStill && !isLastTry) break;
      }
      if (isStill || isLastTry) return lines.toReversed();
    }
  }

  *#deliveries(slice: Slice, lines: TimedLines): Generator<Batch> {
    const { batchEvents, overlapMicros, warn } = this.#options;
    const position = (): PagePosition => ({
      mode: 'pages',
      through: this.#through,
      knownFrom: this.#known.from,
      known: this.#known.entries(),
    });
    const fresh = [...this.#unknownOf(lines)];
    for (let at = 0; at < fresh.length; at += batchEvents) {
      const events = fresh.slice(at, at + batchEvents);
      for (const { hash, time } of events) this.#known.add(hash, time);
      yield { events, position, settledThrough: this.#through ?? slice.from };
    }
    const through = Math.max(this.#through ?? 0, slice.to);
    this.#through = through;
    // This clock may be ahead of the server's, so events may arrive for times without one.
    if (this.#known.forgetBefore(Math.min(through, this.#known.newest) - overlapMicros))
      warn(
        `too many events to remember: only those after ${formatMicros(this.#known.from)} are compared again`,
      );
    yield { events: [], position, settledThrough: through };
  }

  *#unknownOf(lines: TimedLines): Generator<ForwardedEvent & { readonly hash: string }> {
    const seen = new Map<string, number>();
    for (const { text, time } of lines) {
      const hash = shortHash(eventIdentity(text));
      const count = (seen.get(hash) ?? 0) + 1;
      seen.set(hash, count);
      if (count <= this.#known.count(hash)) continue;
      yield { text: oneLine(text), time, hash, id: () => shortHash(this.#options.stream, hash, count) };
    }
  }
}

/** They have no id, so their content is counted. */
class KnownEvents {
  readonly #byHash: Map<string, { readonly time: number; count: number }>;
  #from: number;

  constructor(from: number, entries: readonly KnownEvent[]) {
    this.#from = from;
    this.#byHash = new Map(entries.map(([time, hash, count]) => [hash, { time, count }]));
  }

  /** Delivered events are complete from this time on. */
  get from(): number {
    return this.#from;
  }

  get newest(): number {
    return Array.from(this.#byHash.values()).reduce((newest, { time }) => Math.max(newest, time), this.#from);
  }

  entries(): KnownEvent[] {
    return Array.from(this.#byHash, ([hash, { time, count }]) => [time, hash, count]);
  }

  count(hash: string): number {
    return this.#byHash.get(hash)?.count ?? 0;
  }

  add(hash: string, time: number): void {
    const entry = this.#byHash.get(hash);
    if (entry === undefined) this.#byHash.set(hash, { time, count: 1 });
    else entry.count += 1;
  }

  /** Forgets events before a time; true if the bound forced more. */
  forgetBefore(time: number): boolean {
    const from = Math.max(this.#from, time);
    const times = Array.from(this.#byHash.values(), (entry) => entry.time).sort((a, b) => a - b);
    const first = times.at(-forwardKnownEventsMax - 1);
    const isTooMuch = first !== undefined && first >= from;
    this.#from = isTooMuch ? first + 1 : from;
    for (const [hash, entry] of this.#byHash) if (entry.time < this.#from) this.#byHash.delete(hash);
    return isTooMuch;
  }
}
