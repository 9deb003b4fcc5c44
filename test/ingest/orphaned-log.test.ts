import { strict as assert } from 'node:assert';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { openLogFiles } from '../../src/ingest/files.ts';
import { Idempotency, sentOf } from '../../src/ingest/idempotency.ts';
import { OrphanedLog } from '../../src/ingest/orphaned-log.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';

describe('the log of a process that is gone', () => {
  let root: string;
  before(async () => {
    root = await temporaryDirectory();
  });
  after(() => removeDirectory(root));

  const answersIn = async (name: string) =>
    Idempotency.open(await openLogFiles(join(root, name, 'idempotency')), Date.now, silentLog);
  const answer = { accepted: 1, rejected: 0, errors: [] };
  const body = sentOf('hash', 'json');

  /** Of a process that has answered one request. */
  async function open(idempotency: Idempotency): Promise<OrphanedLog> {
    const gone = await answersIn('gone');
    await gone.keep([Buffer.from(gone.notes(gone.id('k', 'a'), body, answer))]);
    const facts = { dataDir: join(root, 'gone'), log: silentLog, segmentBytes: 65_536, idempotency };
    const sink = () => assert.fail('nothing is left to be sent');
    return OrphanedLog.open({ ...facts, damage: new DamageRegister(), sink });
  }

  test('stays until others know its answers, so that the next start can tell them', async () => {
    const own = await answersIn('own');
    const ending = new AbortController();
    const first = await open(own);
    assert.deepEqual(own.recall(own.id('k', 'a'), body), answer);
    const sending = first.send(ending.signal, new Promise(() => undefined));
    setTimeout(() => ending.abort(), 500);
    assert.equal(await sending, false);
    assert.equal((await readdir(join(root, 'gone', 'idempotency'))).length, 1);

    const second = await open(own);
    const failing = Promise.reject(new Error('the engine is away'));
    failing.catch(() => undefined);
    await assert.rejects(second.send(new AbortController().signal, failing), /the engine is away/);
    const third = await open(own);
    assert.equal(await third.send(new AbortController().signal, Promise.resolve()), true);
    assert.deepEqual(await readdir(join(root, 'gone')), []);
  });
});
