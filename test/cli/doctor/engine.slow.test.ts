import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { nextSegmentNumber, segmentAtTime } from '../../../src/base/events/sequence.ts';
import {
  checkBacklog,
  checkClock,
  checkOrder,
  checkPartCount,
  checkRetention,
  checkTables,
  checkVersion,
} from '../../../src/cli/doctor/engine.ts';
import { limits } from '../../../src/cli/limits.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { segmentName } from '../../../src/ingest/segment.ts';
import type { Part } from '../../../src/control/records.ts';
import { createRecorder } from '../../read/support.ts';
import { openDirectory, operatorCall } from '../../support/control.ts';
import { removeDirectory, temporaryDirectory } from '../../support/directories.ts';
import { sharedEngine, type SharedEngine } from '../../support/shared.ts';

const dayMs = 86_400_000;

describe('what doctor finds of the engine and the log', () => {
  let engine: SharedEngine;
  let dataDir: string;
  before(async () => {
    engine = await sharedEngine();
    dataDir = await temporaryDirectory();
  });
  after(() => removeDirectory(dataDir));

  const put = async (segment: number, bytes: number): Promise<void> => {
    await mkdir(join(dataDir, 'wal'), { recursive: true });
    await writeFile(join(dataDir, 'wal', segmentName(segment)), Buffer.alloc(bytes));
  };

  test('is nothing where all is well', async () => {
    const { storage } = engine;
    assert.match(String((await checkVersion(storage)).notes), /^ClickHouse 2\d\./);
    assert.match(String((await checkTables(storage)).notes), /^migrations up to \d{4}; log format 1$/);
    for (const one of [await checkClock(storage, dataDir), await checkPartCount(storage)])
      assert.deepEqual(one.findings, []);
  });

  test('is a log that is older than a minute beside a server, or half full', async () => {
    const config = loadConfig({ DATA_DIR: dataDir, WAL_MAX_BYTES: '1 GiB', SEGMENT_BYTES: '1 MiB' });
    const twoMinutesAgo = nextSegmentNumber(Date.now() - 120_000, 1, 0);
    await put(twoMinutesAgo, 1000);
    assert.equal((await checkBacklog(config, true)).healthy, true, 'one alone is the open one');
    await put(segmentAtTime(Date.now()), 500);
    const { findings, notes } = await checkBacklog(config, true);
    assert.deepEqual(
      findings.map(({ id }) => id),
      [segmentName(twoMinutesAgo)],
    );
    assert.match(String(notes), /^2 segments with 1500 of at most 1073741824 bytes/);
    assert.equal((await checkBacklog(config, false)).healthy, true, 'nobody is there to send them');
    const full = await checkBacklog({ ...config, walMaxBytes: 2000 }, false);
    assert.match(String(full.findings[0]?.remedy), /start the server/);
  });

  test('is a clock behind the newest segment', async () => {
    await put(segmentAtTime(Date.now() + 3_600_000), 0);
    const { findings } = await checkClock(engine.storage, dataDir);
    assert.match(String(findings[0]?.detail), /^it is 3[56]\d\d s behind/);
  });

  test('is an event with an order number that no writer has reached', async () => {
    const { storage } = engine;
    const config = loadConfig({ DATA_DIR: await temporaryDirectory() });
    const org = randomUUID();
    const ofIt = async () => (await checkOrder(storage, config)).findings.filter(({ id }) => id === org);
    const soon = createRecorder(storage, { now: () => Date.now() + 600_000 });
    await soon(org, [{ message: { action: 1001, timestamp: Date.now() * 1000 } }]);
    assert.deepEqual(await ofIt(), [], 'a clock may be ahead');
    await storage.command(
      `INSERT INTO events SELECT * REPLACE (seq + 1000000000000000 AS seq) FROM events WHERE org = {org:UUID}`,
      { org },
    );
    const [found] = await ofIt();
    assert.match(
      found?.detail ?? '',
      /^1 events of this organization have order numbers that no writer has reached/,
    );
    await storage.command('ALTER TABLE events DELETE WHERE org = {org:UUID} SETTINGS mutations_sync = 1', {
      org,
    });
    await removeDirectory(config.dataDir);
  });

  test('is what stays on the disk though its time is over', async () => {
    const { storage } = engine;
    const found = async (): Promise<number> =>
      Number.parseInt((await checkRetention(storage)).findings[0]?.detail ?? '0', 10);
    // From other tests on this engine.
    const before = await found();
    // One expired long ago; a hold keeps the other.
    const longAgo = Date.now() - (limits.doctorExpiredDaysMax + 10) * dayMs;
    const record = createRecorder(storage, { now: () => longAgo });
    const [over, held] = [randomUUID(), randomUUID()];
    for (const id of [over, held])
      await record(id, [{ message: { action: 1001, timestamp: new Date(longAgo).toISOString() } }]);
    assert.equal(await found(), before, 'no policy ends them');
    const directory = await openDirectory(storage);
    const policy = { days: 1, holdReason: '', version: 1 };
    const organization = {
      name: 'Of a policy',
      retentionDays: 1,
      receipts: 'own',
      deletedMicros: undefined,
    } as const;
    const parts: Part[] = [over, held].flatMap((id): Part[] => [
      ['organization', { ...organization, id, slug: id.slice(0, 8), createdMicros: 1 }],
      ['policy', { ...policy, id, heldMicros: id === held ? 1 : undefined }],
    ]);
    await directory.change(operatorCall, () => ({ parts, changes: [], result: undefined }));
    assert.equal(await found(), before + 1);
  });
});
