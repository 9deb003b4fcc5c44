import { acme } from './acme.ts';
import { Company } from './company.ts';
import { Draw } from './draw.ts';
import { globex } from './globex.ts';
import type { Happening } from './happening.ts';
import { leaving } from './leaver.ts';
import type { Profile } from './profile.ts';
import { castOf, type Clue, cluesOf, Script, type Story } from './script.ts';
import { theft } from './theft.ts';

const hourMicros = 3_600_000_000;
const weekMicros = 7 * 24 * hourMicros;
/** The length of the demo; a few more days are generated, of which the oldest are dropped. */
const weeks = 4;
const weeksMade = 5;
/**
 * All events are generated for the week from this Sunday and moved by whole weeks: all demos have the same
 * events, at the same time of the same weekday.
 */
const madeWeek = Date.UTC(2026, 10, 22) * 1000;
const bodyEventsMax = 2_000;
const stories: ReadonlyMap<Profile, Story> = new Map([
  [acme, theft],
  [globex, leaving],
]);

export interface DemoRequest {
  readonly profile: Profile;
  readonly count: number;
  /** Now, Unix microseconds. */
  readonly endMicros: number;
  readonly seed: number;
  /** Ids of existing users by e-mail address. */
  readonly ids?: ReadonlyMap<string, string>;
}

/** The Sunday, 00:00 UTC, that begins a week. The epoch was a Thursday. */
const weekOf = (micros: number): number => {
  const firstSunday = 3 * 24 * hourMicros;
  return Math.floor((micros - firstSunday) / weekMicros) * weekMicros + firstSunday;
};

/** Events an organization needs to contain its story. */
export const storyEventsMin = (profile: Profile): number => stories.get(profile)?.eventsMin ?? 0;

function storyOf({ profile, count }: Pick<DemoRequest, 'profile' | 'count'>): Story | undefined {
  return count < storyEventsMin(profile) ? undefined : stories.get(profile);
}

/** Clues to the story in these events; empty without a story. */
export function demoClues({ profile, count, endMicros }: Omit<DemoRequest, 'seed'>): Clue[] {
  const story = storyOf({ profile, count });
  return story === undefined ? [] : cluesOf(story, profile.slug, weekOf(endMicros));
}

/** A moment of the demo's week, from the first event of a flow of its story. */
export const demoEnd = (flowMicros: number): number => weekOf(flowMicros) + weekMicros;

/** All events until now, oldest first; at least the requested number. */
function* happenings(request: DemoRequest): Generator<Happening, void, undefined> {
  const { profile, count, endMicros, seed, ids = new Map() } = request;
  const story = storyOf(request);
  const cast = story && { cast: castOf(story, profile.slug, madeWeek) };
  const laterMicros = weekOf(endMicros) - madeWeek;
  const now = endMicros - laterMicros;
  const company = new Company(new Draw(seed), profile, { ids, laterMicros, ...cast });
  const script = story && new Script(story, company, madeWeek);
  if (script !== undefined) story?.tell(script);
  let pending = script?.events ?? [];
  const usual = count - pending.length;
  let busyWeeks = 0;
  for (let hour = madeWeek - weeks * weekMicros; hour < madeWeek; hour += hourMicros)
    busyWeeks += company.bustle(hour);
  let busy = 0;
  let made = 0;
  for (let hour = madeWeek - weeksMade * weekMicros; hour < now; hour += hourMicros) {
    busy += company.bustle(hour);
    for (const target = Math.ceil((usual * busy) / busyWeeks); made < target; ) {
      const events = company.happen(hour);
      pending.push(...events);
      made += events.length;
    }
    const ends = Math.min(hour + hourMicros, now);
    yield* pending.filter(({ micros }) => micros < ends).sort((a, b) => a.micros - b.micros);
    pending = pending.filter(({ micros }) => micros >= ends);
  }
}

/**
 * Source events of about the four weeks before `endMicros`, oldest first: exactly `count` JSON lines without
 * line ends, as the write endpoint takes them (contract: Ingest). The same arguments give the same lines;
 * another `endMicros` at the same time of the week only changes the dates. Holds one hour of events and the
 * story in memory.
 */
export function* demoEvents(request: DemoRequest): Generator<string, void, undefined> {
  const { count } = request;
  if (count === 0) return;
  let made = 0;
  for (const _ of happenings(request)) made += 1;
  let surplus = made - count;
  for (const { line } of happenings(request)) {
    surplus -= 1;
    if (surplus < 0) yield line;
  }
}

/** The same lines as NDJSON bodies for the write endpoint. */
export function* demoBodies(request: DemoRequest): Generator<Uint8Array, void, undefined> {
  let lines: string[] = [];
  for (const line of demoEvents(request)) {
    lines.push(line);
    if (lines.length < bodyEventsMax) continue;
    yield Buffer.from(lines.join('\n'));
    lines = [];
  }
  if (lines.length > 0) yield Buffer.from(lines.join('\n'));
}
