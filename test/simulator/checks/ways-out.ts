import { parse as parseCsv } from 'csv-parse/sync';
import type { Draw } from '../draw.ts';
import { idIn } from '../events.ts';
import { difference, hold } from '../finding.ts';
import type { ModelEvent, ModelOrganization } from '../model.ts';
import type { World } from '../world.ts';
import { elementsOf } from './json-elements.ts';
import { compareRendering } from './rendering.ts';

/**
 * Compares every kind of read of an organization at rest with the model: the same events, in one order, whole.
 * Times end before the service's own events, so the whole answer is known.
 */

const dayMs = 86_400_000;

export interface Rest {
  readonly organization: ModelOrganization;
  /** Newest first; each must be shown or may be. */
  readonly events: readonly { readonly event: ModelEvent; readonly isSure: boolean }[];
  /** Parameters that select these events. */
  readonly query: string;
}

/** The expected events of an organization without open requests, whose feed was read to its end. */
export function atRest(world: World, organization: ModelOrganization): Rest {
  const place = new Map(organization.order.map((id, at) => [id, at]));
  const events = [...organization.events.values()]
    .filter(({ batch }) => batch.state === 'stored')
    .map(({ event }) => ({ event, visibility: organization.visibility(event, world.service.aheadDays) }))
    .filter(({ visibility }) => visibility !== 'never')
    .sort(
      (a, b) =>
        b.event.micros - a.event.micros || (place.get(b.event.id) ?? 0) - (place.get(a.event.id) ?? 0),
    )
    .map(({ event, visibility }) => ({ event, isSure: visibility === 'must' }));
  return {
    organization,
    events,
    query: `endTime=${new Date(world.model.beganMicros / 1000 - 20 * dayMs).toISOString()}`,
  };
}

/** Compares a list of ids, newest first, with the expected events, and returns these in that order. */
function compareIds(rest: Rest, way: string, shown: readonly (string | undefined)[]): ModelEvent[] {
  const matching: ModelEvent[] = [];
  let next = 0;
  for (const id of shown) {
    while (
      next < rest.events.length &&
      rest.events[next]?.event.id !== id &&
      rest.events[next]?.isSure === false
    )
      next += 1;
    const one = rest.events[next];
    hold(
      one !== undefined,
      'nothing is shown that is not there',
      () => `${way} of ${rest.organization.slug}: ${id} at place ${matching.length}`,
    );
    hold(
      one.event.id === id,
      'every event is there, in one order',
      () =>
        `${way} of ${rest.organization.slug} has ${id} where ${one.event.id} is, at place ${matching.length} of ${shown.length}`,
    );
    matching.push(one.event);
    next += 1;
  }
  const missing = rest.events.slice(next).find(({ isSure }) => isSure);
  hold(
    missing === undefined,
    'every event is there, in one order',
    () =>
      `${way} of ${rest.organization.slug} ends before ${missing?.event.id}, after ${shown.length} of ${rest.events.length}`,
  );
  return matching;
}

function holdTexts(world: World, rest: Rest, way: string, texts: readonly string[]): number {
  const events = compareIds(rest, way, texts.map(idIn));
  for (const [at, event] of events.entries())
    compareRendering(world, rest.organization, event, texts[at] ?? '', way);
  return events.length;
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

interface WholeExport {
  readonly text: string;
  /** Compares the total in the head with the number of events. */
  checkTotal(events: readonly unknown[]): void;
}

async function wholeExport(world: World, rest: Rest, format: string): Promise<WholeExport | undefined> {
  const query = `format=${format}&${rest.query}`;
  const answer = await world.read(rest.organization, `/api/v1/audit/export?${query}`);
  if (answer === undefined) return undefined;
  const total = String(answer.headers['x-total-count']);
  const checkTotal = ({ length }: readonly unknown[]): void =>
    hold(
      total === String(length),
      'totals are exact',
      () => `${rest.organization.slug}: an export of ${length} events has a total of ${total} (${query})`,
    );
  return { text: answer.text, checkTotal };
}

/** Exports as lines; the other reads are compared with their number. */
export async function checkLines(world: World, rest: Rest): Promise<void> {
  const found = await wholeExport(world, rest, 'ndjson');
  if (found === undefined) return;
  const texts = lines(found.text);
  found.checkTotal(texts);
  holdTexts(world, rest, `the NDJSON export (${rest.query})`, texts);
}

export async function checkArray(world: World, rest: Rest): Promise<void> {
  const found = await wholeExport(world, rest, 'json');
  if (found === undefined) return;
  const texts = elementsOf(found.text, '[');
  found.checkTotal(texts);
  holdTexts(world, rest, 'the JSON export', texts);
}

export async function checkCsv(world: World, rest: Rest): Promise<void> {
  const found = await wholeExport(world, rest, 'csv');
  if (found === undefined) return;
  const rows = parseCsv<Record<string, string>>(found.text, { columns: true, record_delimiter: '\r\n' });
  found.checkTotal(rows);
  const events = compareIds(
    rest,
    'the CSV export',
    rows.map((row) => idIn(row['extra_map'] ?? '') ?? idIn(row['message'] ?? '')),
  );
  for (const [at, event] of events.entries()) {
    const { csv, isAmbiguous } = rest.organization.shown(event).expected;
    const unknown = isAmbiguous ? { target_name: '?', file_name: '?' } : {};
    const [shown, expected] = [rows[at], csv].map((row) => JSON.stringify({ ...row, ...unknown }));
    hold(
      shown === expected,
      'events are what was sent',
      () => `the CSV export: ${event.id} ${difference(shown, expected)}`,
    );
  }
}

/** The bytes of an event, which must be the same in each reading. */
const standard = new WeakMap<ModelEvent, string>();
export async function checkOcsf110(world: World, rest: Rest): Promise<void> {
  const found = await wholeExport(world, rest, 'ndjson&schema=ocsf');
  if (found === undefined) return;
  const texts = lines(found.text);
  found.checkTotal(texts);
  const events = compareIds(rest, 'the OCSF export', texts.map(idIn));
  for (const [at, event] of events.entries()) {
    const shown = texts[at] ?? '';
    const before = standard.get(event);
    const mayDiffer = event.persons.some(({ state }) => state !== 'here');
    hold(
      before === undefined || before === shown || mayDiffer,
      'an event has the same bytes for ever',
      () => `the OCSF export: ${event.id} ${difference(shown, before)}`,
    );
    standard.set(event, shown);
  }
}

/** Pages of a drawn size from first to last; the total is exact. */
export async function checkPages(world: World, rest: Rest, draw: Draw): Promise<void> {
  const count = rest.events.length;
  const limit = Math.min(1000, Math.max(draw.pick([7, 50, 333, 1000, 1000]), Math.ceil(count / 12)));
  const texts: string[] = [];
  let total = 0;
  for (;;) {
    const query = `limit=${limit}&offset=${texts.length}&${rest.query}`;
    const answer = await world.read(rest.organization, `/api/v1/audit?${query}`);
    if (answer === undefined) return;
    const { meta } = JSON.parse(answer.text) as { meta: { total: number; searched_back_to?: string } };
    // A search whose time ended knows only a part; an export searches everything.
    if (meta.searched_back_to !== undefined) return checkLines(world, rest);
    const page = elementsOf(answer.text, '"data":[');
    texts.push(...page);
    const sure = rest.events.filter(({ isSure }) => isSure).length;
    hold(
      meta.total >= sure && meta.total <= count,
      'totals are exact',
      () =>
        `${rest.organization.slug}: a total of ${meta.total}, where ${sure} to ${count} are to be shown (${query})`,
    );
    if (page.length > 0) total = meta.total;
    if (page.length < limit) break;
  }
  hold(
    total === texts.length || rest.events.some(({ isSure }) => !isSure),
    'totals are exact',
    () => `${rest.organization.slug}: a total of ${total}, and ${texts.length} rows (${rest.query})`,
  );
  holdTexts(world, rest, `the pages (${rest.query})`, texts);
}

/** A page of one event at a large offset is the event at that position. */
export async function checkDeepPage(world: World, rest: Rest, draw: Draw): Promise<void> {
  if (rest.events.length === 0 || rest.events.some(({ isSure }) => !isSure)) return;
  const offset = draw.int(0, rest.events.length - 1);
  const answer = await world.read(rest.organization, `/api/v1/audit?limit=1&offset=${offset}&${rest.query}`);
  if (answer === undefined) return;
  const shown = idIn(answer.text);
  hold(
    shown === rest.events[offset]?.event.id,
    'every event is there, in one order',
    () => `the page at offset ${offset} has ${shown}, not ${rest.events[offset]?.event.id}`,
  );
}

/** The part of a list that a limit and an offset select. */
function cut(rest: Rest, draw: Draw): Rest {
  if (draw.chance(0.5) || rest.events.some(({ isSure }) => !isSure)) return rest;
  const [offset, limit] = [draw.int(0, rest.events.length), draw.int(1, rest.events.length + 1)];
  const query = `${rest.query}&limit=${limit}&offset=${offset}`;
  return { ...rest, query, events: rest.events.slice(offset, offset + limit) };
}

/** Source events as sent, by session: all, or those of a limit and an offset. */
export async function checkSources(world: World, all: Rest, draw: Draw): Promise<void> {
  const user = all.organization.users.find(({ state, role }) => state === 'good' && role !== 'member');
  if (user === undefined) return;
  const rest = cut(all, draw);
  const path = `/api/v1/dashboard/organization/get-events-in-org?${rest.query}`;
  const answer = await world.ask(path, { organization: rest.organization, headers: { cookie: user.cookie } });
  if (answer === undefined) return;
  hold(answer.status === 200, 'a good session reads', () => `${path}: ${answer.status}`);
  const texts = elementsOf(answer.text, '"data":[');
  const events = compareIds(rest, `the legacy endpoint (${rest.query})`, texts.map(idIn));
  for (const [at, event] of events.entries()) compareSource(rest.organization, event, texts[at]);
}

/** Byte by byte as sent, except for secrets. */
function compareSource(organization: ModelOrganization, event: ModelEvent, text: string | undefined): void {
  const expected = organization.shown(event).source;
  hold(
    text === expected,
    'events are what was sent',
    () => `the legacy endpoint: ${event.id} ${difference(text, expected)}`,
  );
}
