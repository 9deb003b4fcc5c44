import { acme } from './acme.ts';
import { Company } from './company.ts';
import { createDraw } from './draw.ts';
import { globex } from './globex.ts';
import type { Happening } from './happening.ts';
import { leaving } from './leaver.ts';
import { limits } from './limits.ts';
import type { Profile } from './profile.ts';
import { absencesOf, type Clue, cluesOf, Script, type Story } from './script.ts';
import { theft } from './theft.ts';

const hourMicros = 3_600_000_000;
const weekMicros = 7 * 24 * hourMicros;
/** The demo has about as many weeks; a few days more are made, of which the oldest go. */
const weeks = 4;
const weeksMade = 5;
/**
 * Everything is made for the week that begins then, a Sunday, and moved by whole weeks: so all demos have the same events,
 * at the same time of the same weekday.
 */
const madeWeek = Date.UTC(2026, 10, 22) * 1000;
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
  /** Ids of people who have an account already, by e-mail address. */
  readonly ids?: ReadonlyMap<string, string>;
}

/** The Sunday, 00:00 UTC, that a week begins with. The epoch was a Thursday. */
const weekOf = (micros: number): number => {
  const firstSunday = 3 * 24 * hourMicros;
  return Math.floor((micros - firstSunday) / weekMicros) * weekMicros + firstSunday;
};

/** Events that an organization must have for its story to be among them. */
export const storyEventsMin = (profile: Profile): number => stories.get(profile)?.eventsMin ?? 0;

function storyOf({ profile, count }: Pick<DemoRequest, 'profile' | 'count'>): Story | undefined {
  return count < storyEventsMin(profile) ? undefined : stories.get(profile);
}

/** What can be found among the events of the same request; nothing where there is no story. */
export function demoClues({ profile, count, endMicros }: Omit<DemoRequest, 'seed'>): Clue[] {
  const story = storyOf({ profile, count });
  return story === undefined ? [] : cluesOf(story, profile.slug, weekOf(endMicros));
}

/** A moment of the week in which a demo was made, by the time of the first event of a flow of its story. */
export const demoEnd = (flowMicros: number): number => weekOf(flowMicros) + weekMicros;

/** Hour after hour of the usual, without an end; each time with what has happened by the end of that hour, in order. */
function* usualHours(company: Company, usual: number): Generator<Happening[], never, undefined> {
  const bustle = (hour: number): number => company.bustle(hour);
  const first = madeWeek - weeksMade * weekMicros;
  let busyWeeks = 0;
  for (let hour = madeWeek - weeks * weekMicros; hour < madeWeek; hour += hourMicros)
    busyWeeks += bustle(hour);
  let pending: Happening[] = [];
  let busy = 0;
  let made = 0;
  for (let begins = first; ; begins += hourMicros) {
    busy += bustle(begins);
    const target = Math.ceil((usual * busy) / busyWeeks);
    while (made < target) {
      const events = company.happen(begins);
      pending.push(...events);
      made += events.length;
    }
    const ends = begins + hourMicros;
    yield pending.filter(({ micros }) => micros < ends).sort((a, b) => a.micros - b.micros);
    // What ends after its hour.
    pending = pending.filter(({ micros }) => micros >= ends);
  }
}

/** All that is made until now, oldest first; no fewer than are asked for. */
function* happenings(request: DemoRequest): Generator<Happening, void, undefined> {
  const { profile, count, endMicros, seed, ids = new Map() } = request;
  const story = storyOf(request);
  const absences = story === undefined ? [] : absencesOf(story, profile.slug, madeWeek);
  const laterMicros = weekOf(endMicros) - madeWeek;
  const now = endMicros - laterMicros;
  const company = new Company(createDraw(seed), profile, { ids, absences, laterMicros });
  const coming: Happening[] = [];
  if (story !== undefined) {
    const script = new Script(story, company, madeWeek);
    story.tell(script);
    coming.push(...script.events.sort((a, b) => b.micros - a.micros));
  }
  for (const hour of usualHours(company, count - coming.length)) {
    for (const event of hour) {
      for (
        let next = coming.at(-1);
        next !== undefined && next.micros <= event.micros;
        next = coming.at(-1)
      ) {
        yield next;
        coming.pop();
      }
      if (event.micros >= now) return;
      yield event;
    }
  }
}

/**
 * Source events of about the four weeks before `endMicros`, oldest first: exactly `count` JSON lines without line ends, in
 * the format of the write endpoint (contract: Ingest). The same arguments give the same lines, and another `endMicros` of
 * the same time in the week the same with other dates. Holds the events of an hour at a time, and those of the story.
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
    if (lines.length < limits.bodyEvents) continue;
    yield Buffer.from(lines.join('\n'));
    lines = [];
  }
  if (lines.length > 0) yield Buffer.from(lines.join('\n'));
}
