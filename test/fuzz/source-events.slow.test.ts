import * as fc from 'fast-check';
import { after, before, test } from 'node:test';
import { rounds } from '../support/rounds.ts';
import type { TestServer } from '../support/server.ts';
import { eventNode } from './arbitrary.ts';
import { mutated, seededDraws } from './mutate.ts';
import { EventsService, hourOf } from './service.ts';
import { printTree } from './tree.ts';

/**
 * Source events most of which are damaged, in their structure or in their bytes, through the running service: every way
 * out against a naive model. Those that are whole are the simulator's. TEST_ROUNDS=many goes on for longer.
 */

const redactKeys = 'region,i-ban,!cookie';
const eventsOfBatch = 60;
const damagedMs = rounds(1_500, 15_000);
let server: TestServer;
let service: EventsService;

before(async () => {
  server = await EventsService.startServer(redactKeys);
  service = await EventsService.open(server, redactKeys, 'fuzz');
});
after(() => server?.stop());

/** Sends events, the same for the same seed, and reads them back by every way out. */
async function checkSeed(seed: number): Promise<void> {
  const hour = hourOf(seed);
  const arbitrary = eventNode({ ...hour, actors: [EventsService.actor] });
  const draw = seededDraws(seed);
  const events = fc
    .sample(arbitrary, { seed, numRuns: eventsOfBatch })
    .map((node) => (draw() < 0.1 ? Buffer.from(printTree(node)) : mutated(node, draw)));
  await service.check(events, hour).catch((error: unknown) => {
    throw new Error(`with seed ${seed}: ${String(error)}`, { cause: error });
  });
}

test('damaged events are refused, or come out as the model has them, and so do their neighbours', async () => {
  const end = performance.now() + damagedMs;
  // Another one in each run; what fails names it.
  let seed = Math.floor(Math.random() * 50_000);
  do await checkSeed(seed++);
  while (performance.now() < end);
});
