import { strict as assert } from 'node:assert';
import { before, suite, test } from 'node:test';
import { paceOf } from '../../src/cli/pace.ts';
import type { Settings, Storage } from '../../src/storage/storage.ts';
import { sharedEngine } from '../support/shared.ts';

suite('commands beside a server', () => {
  let storage: Storage;
  before(async () => {
    ({ storage } = await sharedEngine());
  });

  /** Of a scan of a table of its own with so many rows, as large as events are: the engine does not look at what it has done in ten milliseconds. */
  async function secondsOf(rows: number, settings: Settings): Promise<number> {
    await storage.command(
      `CREATE TABLE paced ENGINE = MergeTree ORDER BY () AS
       SELECT randomPrintableASCII(1500) AS text FROM numbers({rows:UInt64})`,
      { rows },
    );
    const began = performance.now();
    await storage.rows('SELECT groupBitXor(cityHash64(tuple(text))) FROM paced', {}, { settings });
    return (performance.now() - began) / 1000;
  }

  test('read no faster than their share, and at full speed alone or where that is asked for', async () => {
    const perCore = 10_000;
    const beside = await paceOf({ storage, isShared: true }, perCore, false);
    const [row] = await storage.rows<{ cores: number }>("SELECT getSetting('max_threads') AS cores");
    const cores = Number(row?.cores);
    assert.ok(cores >= 1);
    assert.equal(beside['max_execution_speed'], perCore * cores);
    // A second's worth, and another: the first block is read before there is anything to hold it against.
    const seconds = await secondsOf(2 * perCore * cores, beside);
    assert.ok(seconds > 1, `${seconds} s`);
    assert.deepEqual(await paceOf({ storage, isShared: true }, perCore, true), {});
    assert.deepEqual(await paceOf({ storage, isShared: false }, perCore, false), {});
  });
});
