import { limits } from '../limits.ts';
import { formatMicros } from '../../base/timestamp.ts';
import { type EventPage, eventIdentity } from '../../client/client.ts';
import { pause } from '../../client/retry.ts';
import {
  type Batch,
  type ForwardedEvent,
  type KnownEvent,
  oneLine,
  type Position,
  shortHash,
} from './batch.ts';
import { halved, type SourceOptions } from './feed-source.ts';

type PagePosition = Extract<Position, { mode: 'pages' }>;

export interface PageSourceOptions extends SourceOptions {
  /** How far back each look goes behind the newest moment already looked at, microseconds. */
  readonly overlapMicros: number;
  /** Unix microseconds. */
  readonly now: () => number;
  readonly warn: (text: string) => void;
}

/**
 * What has been delivered of the time that is looked at again. Events have no id, so they are told apart by all
 * that is in them; two that are alike in everything are two, which is why they are counted.
 */
function createKnown(from: number, entries: readonly KnownEvent[]) {
  const byHash = new Map(entries.map(([time, hash, count]) => [hash, { time, count }]));
  let knownFrom = from;
  return {
    count: (hash: string): number => byHash.get(hash)?.count ?? 0,
    add(hash: string, time: number): void {
      const entry = byHash.get(hash);
      if (entry === undefined) byHash.set(hash, { time, count: 1 });
      else entry.count += 1;
    },
    /** Forgets what lies before a time, or more than that where it is too much; true when it was too much. */
    forgetBefore(time: number): boolean {
      knownFrom = Math.max(knownFrom, time);
      const times = [...byHash.values()].map((entry) => entry.time).sort((a, b) => a - b);
      const first = times.at(-limits.forwardKnownEventsMax - 1);
      const isTooMuch = first !== undefined && first >= knownFrom;
      if (isTooMuch) knownFrom = first + 1;
      for (const [hash, entry] of byHash) if (entry.time < knownFrom) byHash.delete(hash);
      return isTooMuch;
    },
    from: (): number => knownFrom,
    entries: (): KnownEvent[] => [...byHash].map(([hash, { time, count }]) => [time, hash, count]),
  };
}

interface Slice {
  readonly from: number;
  readonly to: number;
}

/**
 * Follows a server that has no feed, by limit and offset (contract: What the service does). Each look covers
 * the time since the last one and an overlap before it, so events that come late by less than the overlap are found;
 * what was delivered of it is remembered. Long stretches are divided until one can be held, and delivered oldest
 * first. An event dated in the future is delivered when its time has come.
 */
export async function* pageSource(options: PageSourceOptions, start: PagePosition): AsyncGenerator<Batch> {
  const { batchEvents, once, overlapMicros, stream, signal } = options;
  const known = createKnown(start.knownFrom, start.known);
  let through = start.through;
  const position = (): PagePosition => ({
    mode: 'pages',
    through,
    knownFrom: known.from(),
    known: known.entries(),
  });

  function* unknownOf(
    texts: readonly { text: string; time: number }[],
  ): Generator<ForwardedEvent & { hash: string }> {
    const seen = new Map<string, number>();
    for (const { text, time } of texts) {
      const hash = shortHash(eventIdentity(text));
      const place = (seen.get(hash) ?? 0) + 1;
      seen.set(hash, place);
      if (place <= known.count(hash)) continue;
      yield { text: oneLine(text), time, hash, id: () => shortHash(stream, hash, place) };
    }
  }

  function* deliveries(slice: Slice, texts: readonly { text: string; time: number }[]): Generator<Batch> {
    const fresh = [...unknownOf(texts)];
    for (let at = 0; at < fresh.length; at += batchEvents) {
      const events = fresh.slice(at, at + batchEvents);
      for (const { hash, time } of events) known.add(hash, time);
      yield { events, position, settledThrough: through ?? slice.from };
    }
    through = Math.max(through ?? 0, slice.to);
    if (known.forgetBefore(through - overlapMicros))
      options.warn(
        `too many events to remember: only those after ${formatMicros(known.from())} are looked at again`,
      );
    yield { events: [], position, settledThrough: through };
  }

  for (;;) {
    const to = options.now();
    const from = known.from();
    const slices: Slice[] = [{ from, to: Math.max(from, to) }];
    for (let slice = slices.pop(); slice !== undefined; slice = slices.pop()) {
      const found = await readSlice(options, slice);
      if (found === 'too many') {
        const middle = Math.floor((slice.from + slice.to) / 2);
        slices.push({ from: middle + 1, to: slice.to }, { from: slice.from, to: middle });
      } else yield* deliveries(slice, found);
    }
    if (once) return;
    await pause(options.intervalMs ?? 0, signal);
  }
}

type Texts = { text: string; time: number }[];

/**
 * All events of a slice, oldest first. Read again when the number of events changed on the way: an event that comes
 * late moves the later pages by one.
 */
async function readSlice(options: PageSourceOptions, slice: Slice): Promise<Texts | 'too many'> {
  const isInstant = slice.from === slice.to;
  const query = { ...options.filter, startTime: formatMicros(slice.from), endTime: formatMicros(slice.to) };
  const ask = (offset: number): Promise<EventPage> =>
    halved(options.batchEvents, (limit) =>
      options.client.page({ ...query, limit, offset }, { signal: options.signal }),
    );
  for (let tries = 1; ; tries++) {
    const texts: Texts = [];
    let page = await ask(0);
    const { total } = page;
    if (total > limits.forwardSliceEventsMax && !isInstant) return 'too many';
    if (total > limits.forwardInstantEventsMax)
      throw new Error(
        `${total} events at one instant are too many to be told apart; a server with a feed is needed`,
      );
    for (;;) {
      page.texts.forEach((text, index) => texts.push({ text, time: page.events[index]?.time ?? slice.to }));
      if (page.events.length === 0 || page.offset + page.events.length >= page.total) break;
      page = await ask(page.offset + page.events.length);
      if (page.total !== total && tries < limits.forwardSliceTriesMax) break;
    }
    if (page.total === total || tries >= limits.forwardSliceTriesMax) return texts.toReversed();
  }
}
