import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { KeyUses } from '../../src/control/key-uses.ts';
import { newKeyId } from '../../src/control/key-text.ts';
import { openStorage } from '../../src/storage/client.ts';
import { silentLog } from '../support/engine.ts';
import { sharedEngine } from '../support/shared.ts';

test('without an engine at the stop the last uses are lost with a warning', async () => {
  const said: string[] = [];
  const at = (level: string) => () => void said.push(level);
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  // No server listens there.
  const connection = {
    url: 'http://127.0.0.1:9',
    user: 'audit',
    password: '',
    database: 'audit',
    headers: {},
  };
  const storage = openStorage(connection, log);
  const uses = new KeyUses({ storage, clock: () => 1, log });
  uses.note('0123456789abcdef');
  await uses.stop();
  await storage.close();
  assert.deepEqual(
    said.filter((level) => level !== 'debug'),
    ['warn'],
  );
});

test('the last uses of thousands of keys are returned', async () => {
  const { storage } = await sharedEngine();
  const uses = new KeyUses({ storage, clock: () => 1_000_000, log: silentLog });
  const ids = Array.from({ length: 7_000 }, newKeyId);
  for (const id of [ids[0], ids[6_999]]) uses.note(id ?? '');
  await uses.write();
  assert.deepEqual(
    [...(await uses.lastUses(ids))].toSorted(([a], [b]) => ids.indexOf(a) - ids.indexOf(b)),
    [
      [ids[0], 1_000_000],
      [ids[6_999], 1_000_000],
    ],
  );
});
