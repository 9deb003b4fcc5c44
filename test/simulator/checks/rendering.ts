import { meaning, parseTree } from '../../fuzz/tree.ts';
import { difference, hold } from '../finding.ts';
import type { ModelEvent, ModelOrganization } from '../model.ts';
import type { World } from '../world.ts';

/** Texts compared with the model once: later the same event must have the same bytes everywhere. */
const rendered = new WeakMap<ModelOrganization, Map<string, string>>();

/** An audit event without the time of reading. */
export const withoutReadTime = (text: string): string => text.replace(/"logged_time":\d+,?/, '');

/** Compares an audit event with the sent event. */
export function compareRendering(
  world: World,
  organization: ModelOrganization,
  event: ModelEvent,
  text: string,
  way: string,
): void {
  const shown = withoutReadTime(text);
  let known = rendered.get(organization);
  if (known === undefined) rendered.set(organization, (known = new Map()));
  if (known.get(event.id) === shown) return;
  const said = meaning(parseTree(shown));
  const expected = meaning(parseTree(organization.shown(event).expected.audit));
  if (said !== expected && isUnderErasure(world, event)) return;
  hold(
    said === expected,
    'events are what was sent',
    () => `${way}: ${event.id} ${difference(said, expected)}`,
  );
  known.set(event.id, shown);
}

/** Either form may be shown: an erasure is in progress or was until a moment ago. */
export function isUnderErasure(world: World, event: ModelEvent): boolean {
  const now = Date.now();
  return event.persons.some(
    ({ state, email }) =>
      state === 'erasing' ||
      (state === 'erased' && world.erased.some(({ text, fromMs }) => text === email && now < fromMs)),
  );
}
