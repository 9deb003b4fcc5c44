import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Engine, reachEngine } from '../../bench/lab/engine.ts';
import { type Facts, openKept, saveFacts } from '../../bench/lab/kept-data.ts';
import type { Lab } from '../../bench/lab/lab.ts';
import { prepareReads, type ReadData } from '../../bench/lab/read-data.ts';
import { UserError } from '../../bench/lab/user-error.ts';
import { createRecorder } from '../read/support.ts';
import { temporaryDirectory } from '../support/directories.ts';
import { type SharedEngine, sharedEngine } from '../support/shared.ts';

/** What `npm run bench -- --data DIR` finds in DIR: of an earlier run, or of one that was interrupted. */

const rowsMax = 900;
let directory: string;
before(async () => {
  directory = await temporaryDirectory();
});
after(() => rm(directory, { recursive: true }));

function factsOf(id: string): Facts {
  const nobody = { frequent: 'a', rare: 'b', none: 'c' };
  const wanted = { actor: nobody, name: nobody, userId: nobody, hash: nobody };
  const microsFrom = Date.UTC(2024, 0, 1) * 1000;
  return { rowsMax, rows: 0, id, key: 'ak_1', microsFrom, microsStep: 60_000_000, wanted };
}

describe('the directory', () => {
  test('is made, begun anew while it has no facts, and kept as soon as it has', async () => {
    const kept = join(directory, 'kept');
    const data = join(kept, 'data');
    openKept(kept, rowsMax);
    await mkdir(data);
    openKept(kept, rowsMax);
    assert.equal(existsSync(data), false, 'a run that was interrupted before its first events');
    await mkdir(data);
    saveFacts(kept, factsOf(randomUUID()));
    openKept(kept, rowsMax);
    assert.ok(existsSync(data));
    assert.throws(
      () => openKept(kept, rowsMax + 1),
      (error) =>
        error instanceof UserError &&
        /holds 900 events of format 2: use --rows 900 or another --data/.test(error.message),
    );
    assert.ok(existsSync(data));
  });

  test('is left alone where it holds data of something else', async () => {
    const other = join(directory, 'other');
    await mkdir(join(other, 'data'), { recursive: true });
    await writeFile(join(other, 'data', 'letter.txt'), 'x');
    assert.throws(() => openKept(other, rowsMax), UserError);
    assert.ok(existsSync(join(other, 'data', 'letter.txt')));
  });
});

describe('its events', () => {
  let shared: SharedEngine;
  let engine: Engine;
  let database: string;
  let bareDatabase: string;
  before(async () => {
    shared = await sharedEngine();
    engine = reachEngine({ ...shared.connection, pid: undefined });
    ({ database } = shared.connection);
    bareDatabase = `${database}_bare`;
    const seeds = randomUUID();
    const event = (n: number) => ({ message: { timestamp: n, action: 1, actor: `a${n % 7}@x.example` } });
    await createRecorder(shared.storage)(
      seeds,
      Array.from({ length: rowsMax }, (_, n) => event(1_600_000_000_000_000 + n)),
    );
    await engine.query(`CREATE DATABASE ${bareDatabase}`);
    await engine.query(`CREATE TABLE ${bareDatabase}.seeds ENGINE = MergeTree ORDER BY bench_k AS
      SELECT *, rowNumberInAllBlocks() AS bench_k FROM ${database}.events WHERE org = toUUID('${seeds}')`);
  });
  after(() => engine.query(`DROP DATABASE ${bareDatabase}`));

  /** A run on the directory, from its start to where it has read or added what it needs. */
  async function run(keptIn: string, rows: number): Promise<ReadData> {
    const nothing = (): never => assert.fail('only seeds need the service and the generator');
    const lab: Lab = {
      directory: keptIn,
      keptIn,
      engine,
      database,
      bareDatabase,
      get service() {
        return nothing();
      },
      get generator() {
        return nothing();
      },
      organization: nothing,
      visible: nothing,
      events: nothing,
      close: nothing,
    };
    const data = await prepareReads(lab, rowsMax);
    await data.growTo(rows);
    return data;
  }

  const contentOf = async (id: string) =>
    engine.query(
      `SELECT count(), uniqExact(seq), groupBitXor(cityHash64(time, seq, ocsf, actor_email)) FROM ${database}.events WHERE org = toUUID('${id}')`,
    );
  const partsOf = () =>
    engine.query(
      `SELECT name FROM system.parts WHERE active AND database = '${database}' AND table = 'events' ORDER BY name`,
    );

  async function begin(name: string): Promise<{ kept: string; facts: Facts }> {
    const kept = join(directory, name);
    const facts = factsOf(randomUUID());
    openKept(kept, rowsMax);
    saveFacts(kept, facts);
    return { kept, facts };
  }

  test('are used again, and an interrupted run goes on where it was, with the events of one that was not', async () => {
    const whole = await begin('whole');
    assert.equal((await run(whole.kept, rowsMax)).rows(), rowsMax);
    const expected = await contentOf(whole.facts.id);
    assert.match(expected, /^900\t900\t/);

    const { kept, facts } = await begin('interrupted');
    assert.equal((await run(kept, 300)).rows(), 300);
    await run(kept, 600);
    // Killed within the INSERT of the second third: it is stored in part, and the facts do not know of it.
    saveFacts(kept, { ...facts, rows: 300 });
    await engine.query(
      `ALTER TABLE ${database}.events DELETE WHERE org = toUUID('${facts.id}') AND seq % 1000 BETWEEN 400 AND 520`,
      { mutations_sync: 1 },
    );
    assert.doesNotMatch(await contentOf(facts.id), /^600\t/);
    const last = await run(kept, rowsMax);
    assert.deepEqual([last.id, last.key, last.rows()], [facts.id, facts.key, rowsMax]);
    assert.equal(await contentOf(facts.id), expected);

    const parts = await partsOf();
    assert.equal((await run(kept, rowsMax)).rows(), rowsMax);
    assert.equal(await partsOf(), parts, 'a run that finds all of its events adds none');
  });
});
