import { strict as assert } from 'node:assert';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test, type TestContext } from 'node:test';
import { recordEvents } from '../../src/cli/record-events.ts';
import { loadConfig } from '../../src/config/config.ts';
import { changeOfOrganization, sourceEventOfChange } from '../../src/control/change-events.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import { HandedEvents } from '../../src/ingest/handed-events.ts';
import { orderThrough } from '../../src/ingest/order-numbers.ts';
import type { OwnBlock } from '../../src/ingest/own-events.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { readWriters } from '../../src/storage/watermarks.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { sharedEngine } from '../support/shared.ts';

let storage: Storage;
before(async () => {
  ({ storage } = await sharedEngine());
});

/** An organization, what a command records of it, and where that went. */
async function setUp(context: TestContext, slug: string) {
  const dataDir = await temporaryDirectory();
  context.after(() => removeDirectory(dataDir));
  await mkdir(join(dataDir, 'engine'));
  const organization = await createOrganization(storage, { slug, name: slug });
  const events = [sourceEventOfChange(changeOfOrganization(organization, 'organizationCreated'), 'op', 1)];
  const recorded = async () => {
    const rows = await storage.rows<{ number: string }>(
      'SELECT toString(bitShiftRight(seq, 20)) AS number FROM events WHERE org = {org:UUID}',
      { org: organization.id },
    );
    return rows.map(({ number }) => Number(number));
  };
  const own = { storage, config: loadConfig({ DATA_DIR: dataDir }), log: silentLog, isShared: false };
  const shared = {
    ...own,
    config: loadConfig({ DATA_DIR: dataDir, CLICKHOUSE_URL: 'http://127.0.0.1:1' }),
    isShared: true,
  };
  return { dataDir, events, recorded, own, shared };
}

test('beside servers on one engine a command that came too late stores nothing, and begins anew', async (context) => {
  const { events, recorded, shared } = await setUp(context, 'late-command');
  const lost: number[] = [];
  /** It is taken for gone when it is about to write. */
  const late: Storage = {
    ...storage,
    insertNative: async (...given) => {
      const open = (await readWriters(storage)).filter(({ isOpen, pid }) => isOpen && pid === process.pid);
      if (lost.length === 0) {
        lost.push(...open.map(({ low }) => low));
        await storage.command(
          `INSERT INTO watermarks SELECT * REPLACE (false AS is_open, version + 1 AS version) FROM watermarks FINAL
           WHERE is_open AND pid = ${process.pid}`,
        );
      }
      return storage.insertNative(...given);
    },
  };
  await recordEvents({ ...shared, storage: late }, events);
  const [number, ...others] = await recorded();
  assert.deepEqual(others, []);
  assert.ok(lost.length > 0 && Number(number) > Math.max(...lost));
  const open = (await readWriters(storage)).filter(({ isOpen, pid }) => isOpen && pid === process.pid);
  assert.deepEqual(open, [], 'nobody waits for it any more');
});

test('without a server a command takes a number above all that a server has taken', async (context) => {
  const { dataDir, events, recorded, own } = await setUp(context, 'lonely-command');
  await recordEvents(own, events);
  const through = await orderThrough(dataDir);
  await recordEvents(own, events);
  const [first, second] = (await recorded()).toSorted((a, b) => a - b);
  assert.equal(first, through);
  assert.ok(Number(second) > through);
  assert.equal(await orderThrough(dataDir), second);
});

test('a server with an engine of its own is left the events in a file, and takes them over', async (context) => {
  const { dataDir, events, recorded, own } = await setUp(context, 'handing-command');
  await recordEvents({ ...own, isShared: true }, events);
  assert.deepEqual(await recorded(), []);
  const folder = join(dataDir, 'handed-events');
  const taken: [string, OwnBlock][] = [];
  let isFull = true;
  const said: string[] = [];
  const log = { ...silentLog, error: (_: object, words: string) => void said.push(words) };
  await writeFile(join(folder, 'torn.events'), '{"rows":1,"checksum":1,"payload":"AAAA"}');
  const takeOver = async (name: string, block: OwnBlock) => {
    if (isFull) throw new Error('the log is full');
    taken.push([name, block]);
  };
  const handed = new HandedEvents(dataDir, { takeOver, flush: async () => true }, log);
  try {
    await assert.rejects(handed.take(), /full/);
    const [name] = (await readdir(folder)).filter((one) => !one.startsWith('torn'));
    isFull = false;
    while (taken.length === 0 || (await readdir(folder)).length > 1) await handed.take();
    assert.deepEqual(new Set(taken.map(([one]) => one)), new Set([name]));
    assert.deepEqual(await readdir(folder), ['torn.events.damaged']);
    assert.equal(said.length, 1, 'told once');
    assert.equal(taken[0]?.[1].rows, 1);
    assert.match(Buffer.from(taken[0]?.[1].payload ?? []).toString('latin1'), /handing-command/);
  } finally {
    await handed.stop();
  }
});
