import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { inEngineOf } from '../../support/engine.ts';
import { eventually } from '../../support/http.ts';
import { sourceEvent } from '../../support/server.ts';
import { withEngine } from '../../e2e/export-support.ts';
import { alertMsMax, TestPrometheus } from './prometheus.ts';
import { SecuredService } from './services.ts';

describe('alerts of a service on the embedded engine, behind TLS', () => {
  let it: SecuredService;
  let prometheus: TestPrometheus;

  before(async () => {
    it = await SecuredService.start();
    prometheus = await TestPrometheus.start([it.target]);
  });

  after(async () => {
    await prometheus?.stop();
    await it?.stop();
  });

  /** False where it is just being started again. */
  function signalEngine(signal: NodeJS.Signals): boolean {
    const pid = it.server.enginePid();
    try {
      return pid !== undefined && process.kill(pid, signal);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
      return false;
    }
  }

  test('a certificate that ends in two days, and one that cannot be served', async () => {
    await prometheus.fires('AuditlogCertificateEnds');
    await prometheus.quiet('AuditlogCertificateRefused');
    await it.breakCertificate();
    await prometheus.fires('AuditlogCertificateRefused');
    await it.mendCertificate();
  });

  test('more requests than a limit allows', async () => {
    await prometheus.quiet('AuditlogLimitsHit');
    await prometheus.fires('AuditlogLimitsHit', () =>
      Promise.all(Array.from({ length: 80 }, () => it.get('', 'no'))),
    );
  });

  test('events that break a rule', async () => {
    await prometheus.quiet('AuditlogEventsRejected');
    await prometheus.fires('AuditlogEventsRejected', () => it.send([{}, {}]));
  });

  test('an engine that is killed again and again', async () => {
    await prometheus.quiet('AuditlogEngineRestarts');
    await prometheus.fires('AuditlogEngineRestarts', async () => {
      if (await prometheus.holds('auditlog_ready{job="auditlog",check="engine_reachable"} == 1'))
        signalEngine('SIGKILL');
    });
  });

  test('a log that fills up, as the engine is stopped, until writes are refused', async () => {
    for (const alert of ['AuditlogLogFillsUp', 'AuditlogWritesRefused', 'AuditlogEventsNotReadable'])
      await prometheus.quiet(alert);
    // Each time: one that was still starting is given up for another, which runs.
    const recordWithoutEngine = () => {
      signalEngine('SIGSTOP');
      return it.record(100);
    };
    try {
      await prometheus.fires('AuditlogLogFillsUp', recordWithoutEngine);
      await prometheus.fires('AuditlogWritesRefused', () => it.record(100));
      await prometheus.fires('AuditlogNotReady');
      await prometheus.fires('AuditlogEventsNotReadable');
    } finally {
      signalEngine('SIGCONT');
    }
    await eventually(
      'the log to be emptied',
      async () => !(await prometheus.holdsOf('AuditlogLogFillsUp')) || undefined,
      alertMsMax,
    );
    assert.equal((await it.record(1)).status, 202);
  });

  test('events that were changed after they had been signed for', async () => {
    for (const alert of ['AuditlogEvidenceContradicted', 'AuditlogDamage']) await prometheus.quiet(alert);
    await eventually(
      'a checkpoint',
      async () => (await it.get('/evidence/checkpoint')).status === 200 || undefined,
    );
    assert.equal(await it.server.stop(), 0);
    await inEngineOf(it.server.dataDir, async (storage) => {
      await storage.command(
        `ALTER TABLE events UPDATE source = concat(source, ' ') WHERE 1 SETTINGS mutations_sync = 1`,
      );
      // So that they are looked at again. A service that runs has the trees in memory, and puts tiles back that are enough.
      await storage.command('TRUNCATE TABLE evidence_tiles');
      await storage.command('TRUNCATE TABLE evidence_progress');
    });
    await it.startAgain();
    await prometheus.fires('AuditlogEvidenceContradicted');
    await prometheus.fires('AuditlogDamage');
  });

  test('a part with a byte that has changed', async () => {
    const ofParts = 'auditlog_damage_known{kind="unreadable"} > 0';
    assert.equal(await prometheus.holds(ofParts), false);
    const parts = () =>
      withEngine(it.server, (storage) =>
        storage.rows<{ name: string; path: string }>(
          "SELECT name, path FROM system.parts WHERE table = 'events' AND active",
        ),
      );
    await withEngine(it.server, (storage) => storage.command('SYSTEM STOP MERGES events'));
    const known = new Set((await parts()).map(({ name }) => name));
    // Payloads that are most of the part, and of few events: the engine tries each bit of a damaged block.
    const noise = () => ({ extra: { noise: randomBytes(200).toString('base64') } });
    assert.equal((await it.send(Array.from({ length: 10 }, () => sourceEvent(noise())))).status, 202);
    const part = await eventually('a new part', async () =>
      (await parts()).find(({ name }) => !known.has(name)),
    );
    const file = await open(join(part.path, 'data.bin'), 'r+');
    try {
      const at = Math.floor((await file.stat()).size * 0.3);
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, at);
      await file.write(Buffer.from([(buffer[0] ?? 0) ^ 0x10]), 0, 1, at);
    } finally {
      await file.close();
    }
    await eventually(
      'damage of a part',
      async () => {
        await it.get('?limit=1000');
        return (await prometheus.holds(ofParts)) || undefined;
      },
      alertMsMax,
      500,
    );
    await prometheus.fires('AuditlogDamage');
  });

  test('a service that is gone', async () => {
    await prometheus.quiet('AuditlogDown');
    await it.server.kill('SIGKILL');
    await prometheus.fires('AuditlogDown');
  });
});
