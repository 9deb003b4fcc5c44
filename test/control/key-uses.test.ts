import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { KeyUses } from '../../src/control/key-uses.ts';
import { openStorage } from '../../src/storage/client.ts';

test('where the engine is gone at the stop, the last uses are left with a warning', async () => {
  const said: string[] = [];
  const at = (level: string) => () => void said.push(level);
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  // Nobody listens there.
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
