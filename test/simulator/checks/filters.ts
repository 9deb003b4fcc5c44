import type { Draw } from '../draw.ts';
import type { ModelEvent, ModelOrganization } from '../model.ts';
import type { World } from '../world.ts';
import { checkLines, checkPages, type Rest } from './ways-out.ts';

/** What filters look at, by the plainest reading of what was sent. Texts are in lower case. */
interface Facts {
  readonly micros: number;
  readonly actor: string | undefined;
  readonly userId: string | undefined;
  readonly fileName: readonly string[];
  readonly fileHash: readonly string[];
  readonly flowId: string | undefined;
}

const known = new WeakMap<ModelEvent, { readonly source: string; readonly facts: Facts }>();

/** The text at a path; anything else counts as absent, and so does the empty text. */
function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  let at = value;
  for (const name of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return typeof at === 'string' && at !== '' ? at.toLowerCase() : undefined;
}

const present = (...texts: readonly (string | undefined)[]): string[] =>
  texts.filter((text) => text !== undefined);

/** Of records of other programs nothing is known, and no value that is drawn here is in them. */
function factsOf(organization: ModelOrganization, event: ModelEvent): Facts {
  const source = event.isOpaque ? '' : organization.shown(event).source;
  const before = known.get(event);
  if (before?.source === source) return before.facts;
  const { message } = (event.isOpaque ? { message: {} } : JSON.parse(source)) as { message: unknown };
  const at = (...path: readonly string[]) => textAt(message, ...path);
  const facts: Facts = {
    micros: event.micros,
    actor: at('actor') ?? at('actor', 'email'),
    userId: at('actor', 'id'),
    fileName: present(at('sender', 'file'), at('target') ?? at('target', 'name')),
    fileHash: present(at('sender', 'hash'), at('extra', 'fileHash')),
    flowId: at('flow_id'),
  };
  known.set(event, { source, facts });
  return facts;
}

interface Filter {
  readonly name: string;
  readonly value: string;
  matches(facts: Facts): boolean;
}

export const isoOf = (micros: number): string =>
  `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, -1)}${String(micros % 1000).padStart(3, '0')}Z`;

/** In other letters, where these are the same in any case. */
function recased(draw: Draw, text: string): string {
  const other = draw.pick([text, text.toUpperCase()]);
  return other.toLowerCase() === text ? other : text;
}

/** Filters that an event passes, each with a value of its own. */
function filtersOf(draw: Draw, facts: Facts): Filter[] {
  const has = (name: 'actor' | 'userId' | 'fileName' | 'fileHash' | 'flowId'): Filter[] => {
    const value = draw.pickAny([facts[name] ?? []].flat());
    if (value === undefined) return [];
    return [
      {
        name,
        value: recased(draw, value),
        matches: (one) => [one[name] ?? []].flat().includes(value),
      },
    ];
  };
  const micros = facts.micros + draw.pick([0, 0, -1, 1, 3]);
  const times: readonly Filter[] = [
    { name: 'startTime', value: isoOf(micros), matches: (one) => one.micros >= micros },
    { name: 'endTime', value: isoOf(micros), matches: (one) => one.micros <= micros },
  ];
  return [has('actor'), has('userId'), has('fileName'), has('fileHash'), has('flowId'), times].flat();
}

/** Filters, alone and together, select what they say on pages and exports, in order and with a total that is exact. */
export async function checkFilters(world: World, rest: Rest, draw: Draw): Promise<void> {
  const { organization } = rest;
  const candidates = rest.events.filter(({ event }) => !event.isOpaque);
  const seen = draw.pickAny(candidates)?.event;
  // While a person is taken out, either form may be what a filter looks at.
  if (seen === undefined || organization.persons.some(({ state }) => state === 'erasing')) return;
  const all = filtersOf(draw, factsOf(organization, seen));
  const given = [draw.pick(all), draw.pick(all)].filter((one, at, both) => both.indexOf(one) === at);
  const parameters = given.map(({ name, value }) => `${name}=${encodeURIComponent(value)}`);
  const matching = rest.events.filter(({ event }) => {
    const facts = factsOf(organization, event);
    return given.every((filter) => filter.matches(facts));
  });
  // Of a parameter that is sent twice the first counts.
  const filtered = { ...rest, events: matching, query: [...parameters, rest.query].join('&') };
  await (draw.chance(0.7) ? checkPages(world, filtered, draw) : checkLines(world, filtered));
}
