import { after, before, test } from 'node:test';
import { rounds } from '../support/rounds.ts';
import type { TestServer } from '../support/server.ts';
import { type Batch, checkBatch, damagedBatch, goodBatch } from './batch.ts';
import { EventsService } from './service.ts';

/** Source events through the running service: every way out against a naive model. TEST_ROUNDS=many goes on for longer. */

const redactKeys = 'region,i-ban,!cookie';
const goodBatches = rounds(2, 10);
const damagedMs = rounds(1_500, 15_000);
let server: TestServer;
let service: EventsService;

before(async () => {
  server = await EventsService.startServer(redactKeys);
  service = await EventsService.open(server, redactKeys, 'fuzz');
});
after(() => server?.stop());

/** Another one in each run; what fails names it. */
const firstSeed = Math.floor(Math.random() * 50_000);

async function checkSeed(seed: number, batch: Batch): Promise<void> {
  await checkBatch(service, batch).catch((error: unknown) => {
    throw new Error(`with seed ${seed}: ${String(error)}`, { cause: error });
  });
}

test('events with secrets anywhere come out of every way as the model has them, and so do their neighbours', async () => {
  for (let seed = firstSeed; seed < firstSeed + goodBatches; seed++) await checkSeed(seed, goodBatch(seed));
});

test('damaged events are refused, or come out as the model has them', async () => {
  const end = performance.now() + damagedMs;
  let seed = firstSeed + goodBatches;
  do await checkSeed(seed, damagedBatch(seed++));
  while (performance.now() < end);
});
