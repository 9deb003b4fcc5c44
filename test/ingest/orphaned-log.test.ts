import { strict as assert } from 'node:assert';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { leftDirectories } from '../../src/config/log-directories.ts';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { openLogFiles } from '../../src/ingest/files.ts';
import { Idempotency, sentOf } from '../../src/ingest/idempotency.ts';
import { OrphanedLog } from '../../src/ingest/orphaned-log.ts';
import { Wal } from '../../src/ingest/wal.ts';
import { OrphanedLogs } from '../../src/processes/orphaned-logs.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { eventually } from '../support/http.ts';
import { sharedEngine } from '../support/shared.ts';
import { frameOf } from './log-support.ts';

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
    assert.equal(await first.send(ending.signal), true);
    const removing = first.remove(ending.signal, new Promise(() => undefined));
    setTimeout(() => ending.abort(), 500);
    assert.equal(await removing, false);
    assert.equal((await readdir(join(root, 'gone', 'idempotency'))).length, 1);

    const { signal } = new AbortController();
    const second = await open(own);
    assert.equal(await second.send(signal), true);
    const failing = Promise.reject(new Error('the engine is away'));
    failing.catch(() => undefined);
    await assert.rejects(second.remove(signal, failing), /the engine is away/);
    assert.equal(await second.remove(signal, Promise.resolve()), true);
    assert.deepEqual(await readdir(join(root, 'gone')), []);
  });

  test('holds back neither the feed nor the events of another one until others know its answers', async () => {
    const { storage } = await sharedEngine();
    const dataDir = join(root, 'several');
    const idempotency = await answersIn('several');
    const facts = { log: silentLog, segmentBytes: 65_536, damage: new DamageRegister() };
    for (const name of ['process-2', 'process-3']) {
      const files = await openLogFiles(join(dataDir, name, 'wal'));
      const wal = await Wal.open({ ...facts, files, bytesMax: 1e6, writer: 0, nowMs: Date.now });
      await wal.append([frameOf([1], 0)]);
      await wal.close();
    }
    const instances: string[] = [];
    const sent: string[] = [];
    const takeOver = async (of: string, instance: string) => {
      instances.push(instance);
      const sink = async () => (sent.push(of), 'stored' as const);
      const gone = await OrphanedLog.open({ ...facts, dataDir: of, idempotency, sink });
      const isNeverTold = new Promise<void>(() => undefined);
      return {
        send: (signal: AbortSignal) => gone.send(signal),
        remove: (signal: AbortSignal) => gone.remove(signal, isNeverTold),
      };
    };
    const left = await OrphanedLogs.find({ storage, dataDir, used: [dataDir], log: silentLog });
    left.start({ takeOver });
    try {
      await eventually('nothing to be waited for', async () => {
        const [row] = await storage.rows<{ open: string }>(
          `SELECT countIf(is_open) AS open FROM watermarks FINAL WHERE writer IN {instances:Array(UUID)}`,
          { instances },
        );
        return (sent.length === 2 && row?.open === '0') || undefined;
      });
    } finally {
      await left.stop();
    }
    assert.deepEqual(sent, await leftDirectories(dataDir, [dataDir]));
  });
});
