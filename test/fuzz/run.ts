import { parseArgs } from 'node:util';
import type { TestServer } from '../support/server.ts';
import { type Batch, batchOf, checkBatch } from './batch.ts';
import { EventsService } from './service.ts';
import { shrink } from './shrink.ts';

/**
 * npm run fuzz -- [--seconds 60] [--seed N]
 *
 * Good and damaged source events through a running service, batch after batch, each read back by every way out. The
 * batch of a seed is always the same, and the next batch has the next seed. Stops at the first failure with exit code
 * 1, after looking for a smaller event that fails as well.
 */

const redactKeys = 'region,i-ban,!cookie';
/** Each try takes seconds: it has an organization of its own, as what one left behind would disturb the next. */
const shrinkMsMax = 60_000;
const seedsOfRuns = 50_000;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' } },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function numberOf(name: string, text: string): number {
  if (!/^\d{1,8}$/.test(text)) throw new Error(`--${name} must be a whole number of at most 8 digits`);
  return Number(text);
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

let organizations = 0;

/** Why a batch fails in an organization of its own; undefined when it does not. */
async function failureOf(server: TestServer, batch: Batch): Promise<string | undefined> {
  const service = await EventsService.open(server, redactKeys, `fuzz-${++organizations}`);
  return checkBatch(service, batch).then(() => undefined, describe);
}

/** Finds one event of a failing batch that fails by itself, and makes it smaller. */
async function reportFailure(server: TestServer, failing: Batch): Promise<void> {
  // What is left of an event may well be refused: that is another matter.
  const batch = { ...failing, areGood: false };
  let { events } = batch;
  while (events.length > 1) {
    const half = events.slice(0, Math.ceil(events.length / 2));
    const other = events.slice(half.length);
    if ((await failureOf(server, { ...batch, events: half })) !== undefined) events = half;
    else if ((await failureOf(server, { ...batch, events: other })) !== undefined) events = other;
    else return say('no part of the batch fails by itself');
  }
  const fails = async (event: Buffer) =>
    (await failureOf(server, { ...batch, events: [event] })) !== undefined;
  const [event] = events;
  if (event === undefined) return;
  const smallest = await shrink(event, fails, shrinkMsMax);
  say(`the smallest event found that fails:\n${smallest.toString()}`);
  say(`${await failureOf(server, { ...batch, events: [smallest] })}`);
}

async function main(): Promise<void> {
  const seconds = numberOf('seconds', values.seconds);
  const first =
    values.seed === undefined ? Math.floor(Math.random() * seedsOfRuns) : numberOf('seed', values.seed);
  say(`seed ${first}, ${seconds} s`);
  const server = await EventsService.startServer(redactKeys);
  try {
    const service = await EventsService.open(server, redactKeys, 'fuzz');
    const end = performance.now() + seconds * 1000;
    const sum = { batches: 0, accepted: 0, rejected: 0 };
    do {
      const seed = first + sum.batches;
      const batch = batchOf(seed);
      try {
        const { accepted, rejected } = await checkBatch(service, batch);
        sum.accepted += accepted;
        sum.rejected += rejected;
      } catch (error) {
        say(`failed; again with: npm run fuzz -- --seed ${seed}\n${describe(error)}`);
        await reportFailure(server, batch);
        process.exitCode = 1;
        return;
      }
      sum.batches += 1;
    } while (performance.now() < end);
    say(
      `${sum.batches} batches, ${sum.accepted} events accepted and read back, ${sum.rejected} refused: no failure`,
    );
  } finally {
    await server.stop();
  }
}

await main();
