import { createCompany, type Happening } from './company.ts';
import { createDraw } from './draw.ts';
import { limits } from './limits.ts';
import type { DemoUser } from './people.ts';

const hourMicros = 3_600_000_000;
const hours = 30 * 24;

interface DemoRequest {
  readonly organization: string;
  readonly users: readonly DemoUser[];
  readonly count: number;
  readonly endMicros: number;
  readonly seed: number;
}

/**
 * Source events of the 30 days before `endMicros` (Unix microseconds), oldest first: exactly `count` JSON lines
 * without line ends, in the format of the write endpoint (contract: Ingest). The same arguments give the same lines.
 * Holds the events of an hour at a time.
 */
export function* demoEvents(request: DemoRequest): Generator<string, void, undefined> {
  const { count, endMicros } = request;
  const company = createCompany(createDraw(request.seed), request.organization, request.users);
  const firstHour = endMicros - hours * hourMicros;
  const busyUntil: number[] = [];
  let busy = 0;
  for (let hour = 0; hour < hours; hour += 1) {
    busy += company.bustle(firstHour + hour * hourMicros);
    busyUntil.push(busy);
  }

  // What ends after its hour waits here for a later one.
  let pending: Happening[] = [];
  let made = 0;
  let given = 0;
  for (let hour = 0; hour < hours; hour += 1) {
    const begins = firstHour + hour * hourMicros;
    const target = hour === hours - 1 ? count : Math.floor((count * (busyUntil[hour] ?? 0)) / busy);
    while (made < target) {
      const events = company.happen(begins);
      pending.push(...events);
      made += events.length;
    }
    pending.sort((a, b) => a.micros - b.micros);
    const later = pending.findIndex((event) => event.micros >= begins + hourMicros);
    const due = later === -1 ? pending : pending.slice(0, later);
    pending = later === -1 ? [] : pending.slice(later);
    for (const event of due) {
      if (given === count) return;
      given += 1;
      yield event.line;
    }
  }
  // What would end after the last hour has not ended yet; other transfers fill the number that was asked for.
  for (let left = count - given; left > 0; left -= 1) {
    const event = company.happen(endMicros - hourMicros)[0];
    if (event === undefined) throw new Error('nothing happens');
    yield event.line;
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
