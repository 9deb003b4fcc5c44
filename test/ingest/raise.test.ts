import { strict as assert } from 'node:assert';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { createLogger } from '../../src/base/observability/log.ts';
import { segmentAtTime, writersMax } from '../../src/base/events/sequence.ts';
import { newestSegmentIn, openLogFiles } from '../../src/ingest/files.ts';
import { Wal } from '../../src/ingest/wal.ts';

test('a log follows what others have reached, whatever the clock says', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'auditlog-raise-'));
  const files = await openLogFiles(join(dataDir, 'wal'));
  const nowMs = Date.UTC(2024, 0, 1);
  const ahead = segmentAtTime(nowMs + 3_600_000);
  const wal = await Wal.open({
    files,
    log: createLogger('silent'),
    segmentBytes: 65_536,
    bytesMax: 1_000_000,
    writer: 5,
    nowMs: () => nowMs,
    passedMs: () => 0,
    damage: new DamageRegister(),
  });
  try {
    wal.raise(ahead);
    while ((await wal.watermark()) <= ahead) await sleep(1);
    const first = await wal.watermark();
    assert.equal(first % writersMax, 5);
    assert.ok((await newestSegmentIn(dataDir)) >= first);
    assert.equal(await newestSegmentIn(join(dataDir, 'none')), 0);
    wal.raise(ahead - 1);
    assert.equal(await wal.watermark(), first, 'who is ahead need not follow');
    const further = ahead + 1000 * writersMax;
    wal.raise(further);
    while ((await wal.watermark()) <= further) await sleep(1);
  } finally {
    await wal.close();
    await rm(dataDir, { recursive: true });
  }
});
