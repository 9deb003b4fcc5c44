import { strict as assert } from 'node:assert';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { array, assert as hold, asyncProperty, boolean, constantFrom, integer, record } from 'fast-check';
import { acceptClock, ClockTrust, markClock, markedClock } from '../../src/base/time/clock-trust.ts';
import { createLogger } from '../../src/base/observability/log.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { rounds } from '../support/rounds.ts';

const dayMs = 86_400_000;
const begin = Date.UTC(2026, 10, 23);

let dataDir: string;
/** The clock of the machine, and one that only passes. */
let wallMs = begin;
let passedMs = 0;
const opened: ClockTrust[] = [];

beforeEach(async () => {
  dataDir = await temporaryDirectory();
  [wallMs, passedMs] = [begin, 0];
});
afterEach(async () => {
  for (const trust of opened.splice(0)) await trust.stop();
  await removeDirectory(dataDir);
});

async function open(newest?: number): Promise<ClockTrust> {
  const trust = await ClockTrust.open({
    dataDir,
    log: createLogger('silent'),
    newestStored: async () => newest,
    nowMs: () => wallMs,
    passedMs: () => passedMs,
  });
  opened.push(trust);
  return trust;
}

/** From then on it notes nothing more. */
async function close(trust: ClockTrust): Promise<void> {
  opened.splice(opened.indexOf(trust), 1);
  await trust.stop();
}

async function restarted(trust: ClockTrust, losesMark = false): Promise<ClockTrust> {
  await close(trust);
  if (losesMark) await rm(join(dataDir, 'clock.json'));
  return open(losesMark ? trust.provenMs() : undefined);
}

function pass(ms: number): void {
  wallMs += ms;
  passedMs += ms;
}

describe('a clock that jumps', () => {
  test('while the service runs: told at once, and the proven time only passes', async () => {
    const trust = await open();
    pass(1_000);
    wallMs += 60 * dayMs;
    await trust.look();
    assert.equal(trust.provenMs(), begin + 1_000);
    assert.equal(trust.expiryMicros(), (begin + 1_000) * 1000);
    assert.equal(trust.latestMicros(), (begin + 1_000 + 60 * dayMs) * 1000);
    assert.match(
      trust.doubt() ?? '',
      /^the clock is 60\.0 days ahead of .* "auditlog doctor --accept-clock"$/,
    );
    pass(5_000);
    assert.equal(trust.provenMs(), begin + 6_000);
  });

  test('is told after a start only once something would go by it', async () => {
    let trust = await open();
    wallMs += 60 * dayMs;
    trust = await restarted(trust);
    assert.deepEqual([trust.provenMs(), trust.doubt()], [begin, undefined]);
    pass(2_000);
    await trust.look();
    assert.equal(trust.doubt(), undefined);
    trust.holdBack(true);
    assert.ok(trust.doubt());
    trust.holdBack(false);
    assert.equal(trust.doubt(), undefined);
    wallMs += 60 * dayMs;
    await trust.look();
    assert.match(trust.doubt() ?? '', /^the clock is 120\.0 days ahead/);
  });

  test('does not become true by another start', async () => {
    let trust = await open();
    wallMs += 60 * dayMs;
    for (let n = 0; n < 5; n += 1) {
      pass(1_000);
      trust = await restarted(trust);
    }
    assert.ok(trust.provenMs() < begin + dayMs);
  });

  test('and is set right is trusted again, as is one by less than a day', async () => {
    const trust = await open();
    wallMs += 60 * dayMs;
    await trust.look();
    wallMs -= 60 * dayMs;
    await trust.look();
    assert.deepEqual([trust.doubt(), trust.aheadMs()], [undefined, 0]);
    wallMs += dayMs - 1;
    await trust.look();
    assert.deepEqual([trust.doubt(), trust.provenMs()], [undefined, begin + dayMs - 1]);
  });
});

describe('what an operator has confirmed', () => {
  test('counts beside a running server, and once', async () => {
    const trust = await open();
    wallMs += 60 * dayMs;
    await trust.look();
    await acceptClock(dataDir, wallMs);
    await trust.look();
    assert.deepEqual([trust.doubt(), trust.provenMs()], [undefined, wallMs]);
    wallMs += 60 * dayMs;
    await trust.look();
    assert.ok(trust.doubt());
    assert.ok((await restarted(trust)).aheadMs() > 0);
  });

  test('counts at the next start, and takes back what was confirmed by mistake', async () => {
    let trust = await open();
    wallMs += 60 * dayMs;
    await acceptClock(dataDir, wallMs);
    assert.equal(await markedClock(dataDir), wallMs);
    trust = await restarted(trust);
    assert.equal(trust.provenMs(), wallMs);
    wallMs = begin;
    await acceptClock(dataDir, wallMs);
    await trust.look();
    assert.equal(trust.provenMs(), begin);
  });
});

test('a clock that is set back removes less, forgets nothing sooner, and hides nothing that would go', async () => {
  const trust = await open();
  wallMs -= 400 * dayMs;
  passedMs += 1_000;
  assert.equal(trust.provenMs(), begin + 1_000);
  assert.equal(trust.expiryMicros(), wallMs * 1000);
  assert.equal(trust.latestMicros(), (begin + 1_000) * 1000);
});

test('without a mark, the newest that is stored tells how far the time had come; without both, the clock', async () => {
  const trust = await open(begin - 90 * dayMs);
  assert.equal(trust.provenMs(), begin - 90 * dayMs);
  await rm(join(dataDir, 'clock.json'));
  assert.equal((await open()).provenMs(), begin);
});

test('a damaged mark is none, and a restore can say what the mark is', async () => {
  const trust = await open();
  await trust.stop();
  const path = join(dataDir, 'clock.json');
  await writeFile(path, (await readFile(path, 'utf8')).replace(String(begin), String(begin + 60 * dayMs)));
  assert.equal(await markedClock(dataDir), undefined);
  await markClock(dataDir, begin - 30 * dayMs);
  assert.equal((await open()).provenMs(), begin - 30 * dayMs);
});

test('steps of less than a day add up to a day and the time that has passed beside them, over looks and starts', async () => {
  const step = record({
    passes: integer({ min: 0, max: 7_200_000 }),
    jumps: constantFrom(0, 0.1, 0.5, 0.96, 0.999, -0.3, 3),
    does: constantFrom('look', 'restart', 'lose the mark'),
  });
  await hold(
    asyncProperty(array(step, { maxLength: 30 }), async (steps) => {
      await rm(join(dataDir, 'clock.json'), { force: true });
      [wallMs, passedMs] = [begin, 0];
      let trust = await open();
      for (const { passes, jumps, does } of steps) {
        pass(passes);
        wallMs += jumps * dayMs;
        if (does === 'look') await trust.look();
        else trust = await restarted(trust, does === 'lose the mark');
        assert.ok(trust.provenMs() <= begin + dayMs + 2 * passedMs);
      }
      await close(trust);
    }),
    { numRuns: rounds(50, 500) },
  );
  await rm(join(dataDir, 'clock.json'), { force: true });
  let trust = await open();
  for (let n = 0; n < 40; n += 1) {
    wallMs += dayMs * 0.96;
    trust = await restarted(trust);
  }
  assert.ok(trust.aheadMs() > 37 * dayMs);
  trust.holdBack(true);
  assert.ok(trust.doubt());
});

test('a step that is too large for now is taken once as much time has passed', async () => {
  const trust = await open();
  wallMs += 0.9 * dayMs;
  await trust.look();
  wallMs += 0.5 * dayMs;
  await trust.look();
  assert.match(trust.doubt() ?? '', /^the clock is 0\.5 days ahead/);
  pass(0.4 * dayMs);
  await trust.look();
  assert.deepEqual([trust.doubt(), trust.provenMs()], [undefined, wallMs]);
});

test('whatever a clock does in steps of more than a day, no more time is proven than has passed', async () => {
  const step = record({
    passes: integer({ min: 0, max: 3_600_000 }),
    jumps: constantFrom(0, 2, 60, 4_000, -2, -400),
    restarts: boolean(),
  });
  await hold(
    asyncProperty(array(step, { maxLength: 12 }), async (steps) => {
      await rm(join(dataDir, 'clock.json'), { force: true });
      [wallMs, passedMs] = [begin, 0];
      let trust = await open();
      let before = trust.provenMs();
      let jumped = 0;
      for (const { passes, jumps, restarts } of steps) {
        pass(passes);
        jumped += jumps * dayMs;
        wallMs += jumps * dayMs;
        if (restarts) trust = await restarted(trust);
        else await trust.look();
        assert.ok(trust.provenMs() >= before);
        assert.ok(trust.provenMs() <= begin + passedMs);
        assert.ok(trust.expiryMicros() <= wallMs * 1000);
        before = trust.provenMs();
      }
      assert.equal(wallMs, begin + passedMs + jumped);
      await close(trust);
    }),
    { numRuns: rounds(30, 300) },
  );
});
