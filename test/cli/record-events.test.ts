import { strict as assert } from 'node:assert';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test, type TestContext } from 'node:test';
import { recordEvents } from '../../src/cli/record-events.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import { orderThrough } from '../../src/ingest/order-numbers.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { openDirectory, operatorCall } from '../support/control.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { eventsBehind } from '../support/journal-events.ts';
import { sharedEngine } from '../support/shared.ts';

let storage: Storage;
before(async () => {
  ({ storage } = await sharedEngine());
});

/** An organization, a command's events, and where they were stored. */
async function setUp(context: TestContext, slug: string) {
  const dataDir = await temporaryDirectory();
  context.after(() => removeDirectory(dataDir));
  await mkdir(join(dataDir, 'engine'));
  const directory = await openDirectory(storage);
  const { place } = directory;
  const organization = await directory.change(operatorCall, createOrganization({ slug, name: slug }));
  const { texts: events } = await eventsBehind(storage, place);
  const recorded = async () => {
    const rows = await storage.rows<{ number: string }>(
      'SELECT toString(bitShiftRight(seq, 20)) AS number FROM events WHERE org = {org:UUID}',
      { org: organization.id },
    );
    return rows.map(({ number }) => Number(number));
  };
  const own = { storage, directory, config: loadConfig({ DATA_DIR: dataDir }), log: silentLog };
  return { dataDir, events, recorded, own };
}

test('without a server a command takes a number above all earlier ones', async (context) => {
  const { dataDir, events, recorded, own } = await setUp(context, 'lonely-command');
  await recordEvents(own, events);
  const through = await orderThrough(dataDir);
  await recordEvents(own, events);
  const [first, second] = (await recorded()).toSorted((a, b) => a - b);
  assert.equal(first, through);
  assert.ok(Number(second) > through);
  assert.equal(await orderThrough(dataDir), second);
});
