import type { Draw } from '../draw.ts';
import { drawFilters, type Facts, factsOf } from '../filters.ts';
import type { ModelEvent, ModelOrganization } from '../model.ts';
import type { World } from '../world.ts';
import { shownBefore } from './rendering.ts';
import { checkCounts } from './counts.ts';
import { checkLines, checkPages, type Rest } from './ways-out.ts';

const timesAtRest = 3;
const known = new WeakMap<ModelEvent, Facts>();

/** Of records of other programs only what was shown is known, and no other value that is drawn is in them. */
function knownFacts(organization: ModelOrganization, event: ModelEvent): Facts {
  const shown = event.isOpaque ? undefined : organization.shown(event);
  const audit = shown?.expected.audit ?? shownBefore(event);
  const before = known.get(event);
  if (before?.audit === audit) return before;
  const facts = factsOf(organization, audit, shown?.source ?? '{}');
  known.set(event, facts);
  return facts;
}

/**
 * Filters, alone and together, select what they say on pages and exports, in order and with a total that is exact, and
 * counts by time and by value are of the same. In between the engine merges: what is counted by parts and granules changes.
 */
export async function checkFilters(world: World, rest: Rest, draw: Draw): Promise<void> {
  const { organization } = rest;
  // While a person is taken out, either form may be what a filter looks at.
  if (rest.events.length === 0 || organization.persons.some(({ state }) => state === 'erasing')) return;
  const facts = rest.events.map(({ event }) => knownFacts(organization, event));
  for (let times = timesAtRest; times > 0; times--) {
    const { parameters, selects } = drawFilters(draw, facts);
    const matching = rest.events.filter((_, at) => selects(facts[at] as Facts));
    // Of a parameter that is sent twice the first counts.
    const filtered = { ...rest, events: matching, query: `${parameters}&${rest.query}` };
    await checkPages(world, filtered, draw);
    await checkLines(world, filtered);
    // Bars and lists count without the words.
    if (!/(?:^|&)q(?:\.\w+)?=/.test(parameters)) await checkCounts(world, filtered);
    if (draw.chance(0.3) && !world.isDamaged())
      await world.service.ask(`OPTIMIZE TABLE events${draw.pick(['', ' FINAL'])}`);
  }
}
