import * as fc from 'fast-check';
import { eventNode, eventText } from './arbitrary.ts';
import { mutated, seededDraws } from './mutate.ts';
import { EventsService, hourOf, type Outcome, type Stretch } from './service.ts';
import { printTree } from './tree.ts';

const eventsOfBatch = 60;

/** Events of an hour, the same for the same seed. */
export interface Batch {
  readonly events: readonly Buffer[];
  readonly hour: Stretch;
  /** Each of them is a good one. */
  readonly areGood: boolean;
}

/** Good events, rich in secrets, in any spelling. */
export function goodBatch(seed: number): Batch {
  const hour = hourOf(seed);
  const texts = fc.sample(eventText({ ...hour, actors: [EventsService.actor] }), {
    seed,
    numRuns: eventsOfBatch,
  });
  return { events: texts.map((text) => Buffer.from(text)), hour, areGood: true };
}

/** Events most of which are damaged in their structure or in their bytes. */
export function damagedBatch(seed: number): Batch {
  const hour = hourOf(seed);
  const nodes = fc.sample(eventNode({ ...hour, actors: [EventsService.actor] }), {
    seed,
    numRuns: eventsOfBatch,
  });
  const draw = seededDraws(seed);
  const events = nodes.map((node) => (draw() < 0.1 ? Buffer.from(printTree(node)) : mutated(node, draw)));
  return { events, hour, areGood: false };
}

/** Sends a batch through a service and reads it back by every way out. */
export function checkBatch(service: EventsService, batch: Batch): Promise<Outcome> {
  return service.check(batch.events, batch.hour, batch.areGood);
}
