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
const hours = 30 * 24;
const stories: ReadonlyMap<Profile, Story> = new Map([
  [acme, theft],
  [globex, leaving],
]);

export interface DemoRequest {
  readonly profile: Profile;
  readonly count: number;
  readonly endMicros: number;
  readonly seed: number;
  /** Ids of people who have an account already, by e-mail address. */
  readonly ids?: ReadonlyMap<string, string>;
}

/** When the events of a demo end that begin then, both in Unix microseconds. */
export const demoEnd = (firstMicros: number): number => firstMicros + hours * hourMicros;

/** What can be found among the events of the same request; nothing where a story would be most of them. */
export function demoClues({ profile, count, endMicros }: Omit<DemoRequest, 'seed'>): Clue[] {
  const story = count < limits.storyEventsMin ? undefined : stories.get(profile);
  return story === undefined ? [] : cluesOf(story, profile.slug, endMicros);
}

/** The events of a story, the last one first. */
function told(story: Story, company: Company, { count, endMicros }: DemoRequest): Happening[] {
  const script = new Script(story, company, endMicros);
  story.tell(script, Math.min(limits.stolenFilesMax, Math.floor(count / limits.eventsForStolenFile)));
  return script.events.sort((a, b) => b.micros - a.micros);
}

/**
 * Source events of the 30 days before `endMicros` (Unix microseconds), oldest first: exactly `count` JSON lines
 * without line ends, in the format of the write endpoint (contract: Ingest). The same arguments give the same lines.
 * Holds the events of an hour at a time, and those of the story.
 */
export function* demoEvents(request: DemoRequest): Generator<string, void, undefined> {
  const { count, endMicros, profile, ids = new Map() } = request;
  const story = count < limits.storyEventsMin ? undefined : stories.get(profile);
  const absences = story === undefined ? [] : absencesOf(story, profile.slug, endMicros);
  const company = new Company(createDraw(request.seed), profile, { ids, absences });
  const firstHour = endMicros - hours * hourMicros;
  const busyUntil: number[] = [];
  let busy = 0;
  for (let hour = 0; hour < hours; hour += 1) {
    busy += company.bustle(firstHour + hour * hourMicros);
    busyUntil.push(busy);
  }

  // The story waits here, its last event first; and in `pending` what ends after its hour.
  const coming = story === undefined ? [] : told(story, company, request);
  const usual = count - coming.length;
  let pending: Happening[] = [];
  let made = 0;
  let left = count;
  for (let hour = 0; hour < hours; hour += 1) {
    const begins = firstHour + hour * hourMicros;
    const target = hour === hours - 1 ? usual : Math.floor((usual * (busyUntil[hour] ?? 0)) / busy);
    while (made < target) {
      // What would end after the last hour has not ended yet.
      const events = company.happen(begins).filter(({ micros }) => micros < endMicros);
      pending.push(...events);
      made += events.length;
    }
    const ends = begins + hourMicros;
    for (let next = coming.at(-1); next !== undefined && next.micros < ends; next = coming.at(-1)) {
      pending.push(next);
      coming.pop();
    }
    pending.sort((a, b) => a.micros - b.micros);
    const later = pending.findIndex((event) => event.micros >= ends);
    const due = later === -1 ? pending : pending.slice(0, later);
    pending = later === -1 ? [] : pending.slice(later);
    // The last visit may be one of more events than there was room for.
    for (const { line } of due.slice(0, left)) yield line;
    left -= Math.min(left, due.length);
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
