import { strict as assert } from 'node:assert';
import { before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../src/backup/limits.ts';
import { Throttle } from '../../src/backup/throttle.ts';
import type { Settings, Storage } from '../../src/storage/storage.ts';
import { sharedEngine } from '../support/shared.ts';

const here = { clickhouse: { url: undefined } };
const elsewhere = { clickhouse: { url: 'http://engine.example:8123' } };

suite('commands beside a server', () => {
  let storage: Storage;
  let cores: number;
  before(async () => {
    ({ storage } = await sharedEngine());
    const [row] = await storage.rows<{ cores: number }>("SELECT getSetting('max_threads') AS cores");
    cores = Number(row?.cores);
    assert.ok(cores >= 1);
  });

  /** Of a scan of a table of its own with so many rows, as large as events are: the engine does not look at what it has done in ten milliseconds. */
  async function secondsOf(rows: number, settings: Settings): Promise<number> {
    await storage.command(
      `CREATE TABLE throttled ENGINE = MergeTree ORDER BY () AS
       SELECT randomPrintableASCII(1500) AS text FROM numbers({rows:UInt64})`,
      { rows },
    );
    const began = performance.now();
    await storage.rows('SELECT groupBitXor(cityHash64(tuple(text))) FROM throttled', {}, { settings });
    return (performance.now() - began) / 1000;
  }

  test('read no faster than their share, and at full speed alone or where that is asked for', async () => {
    const perCore = 10_000 * 1500;
    const busy = () => 0;
    const throttle = await Throttle.of({ storage, isShared: true, config: here }, perCore, false, busy);
    const beside = throttle.settings();
    assert.equal(beside['max_execution_speed_bytes'], perCore * cores);
    // A second's worth, and another: the first block is read before there is anything to hold it against.
    const seconds = await secondsOf(2 * 10_000 * cores, beside);
    assert.ok(seconds > 1, `${seconds} s`);
    const full = await Throttle.of({ storage, isShared: true, config: here }, perCore, true);
    const alone = await Throttle.of({ storage, isShared: false, config: here }, perCore, false);
    assert.deepEqual([full.settings(), alone.settings()], [{}, {}]);
  });

  test('become faster while the processors are idle, and slower again when they are not', async () => {
    let idleShare = 0;
    let idle = 0;
    const processors = 2;
    const began = performance.now();
    let at = began;
    const counter = () => {
      const now = performance.now();
      idle += idleShare * processors * (now - at);
      at = now;
      return idle;
    };
    const session = { storage, isShared: true, config: here };
    const next = async (share: number): Promise<number> => {
      idleShare = share;
      await sleep(limits.throttleLookMs + 20);
      return Number(throttle.settings()['max_execution_speed_bytes']) / cores;
    };
    idleShare = 0.9;
    const throttle = await Throttle.of(session, 1_000, false, counter, processors);
    assert.equal(throttle.settings()['max_execution_speed_bytes'], 4_000 * cores, 'the first query');
    assert.equal(throttle.settings()['max_execution_speed_bytes'], 4_000 * cores, 'too soon to look again');
    assert.equal(await next(0.9), 1_000 * limits.throttleGrowthMax);
    assert.equal(await next(0.4), 1_000 * limits.throttleGrowthMax);
    assert.equal(await next(0.1), 5_000);
    for (let look = 0; look < 3; look += 1) await next(0.1);
    assert.equal(await next(0.1), 1_000);
  });

  test('keep to one throttle where the engine is on another machine, whose processors they do not see', async () => {
    const session = { storage, isShared: true, config: elsewhere };
    const throttle = await Throttle.of(session, 1_000, false, () => assert.fail('looked at this machine'));
    const expected = 1_000 * limits.throttleElsewhereTimes * cores;
    assert.equal(throttle.settings()['max_execution_speed_bytes'], expected);
  });
});
