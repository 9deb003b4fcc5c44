import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { call, eventually } from '../support/http.ts';
import { startPlainEngine } from '../support/plain-engine.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, sourceEvent, startServer } from '../support/server.ts';

// `recovery.test.ts` and the simulator take more away: the newest segments, wal-head, all of it.
test('what is harmed in the log while the engine is down is told, and nothing else is lost or doubled', async () => {
  const dataDir = await temporaryDirectory();
  const engine = await startPlainEngine();
  const env = { ...engine.env, SEGMENT_BYTES: '4096' };
  let server = await startServer({ dataDir, env });
  try {
    const tenant = await createTenant(server, 'harmed');
    await tenant.caughtUp();
    await engine.kill();
    const flow = randomUUID();
    const batches = 8;
    const events = Array.from({ length: 10 }, (_, n) => sourceEvent({ flow_id: flow, extra: { n } }));
    for (let n = 0; n < batches; n++) await tenant.record(events);
    await server.kill('SIGKILL');

    const wal = join(dataDir, 'wal');
    const names = (await readdir(wal)).filter((name) => name.endsWith('.wal')).sort();
    const [short, gone, copied] = names as [string, string, string];
    const content = await readFile(join(wal, short));
    // At the border of a frame: all that is left of the file is intact.
    await writeFile(join(wal, short), content.subarray(0, content.lastIndexOf('FRAM')));
    await unlink(join(wal, gone));
    const copy = String(Number(copied.slice(0, 16)) + 1).padStart(16, '0');
    await writeFile(join(wal, `${copy}.wal`), await readFile(join(wal, copied)));
    await writeFile(join(wal, '9999999999999999.wal'), 'a stray');

    await engine.start();
    server = await startServer({ dataDir, env });
    const told = server.stderrLines().map((line) => JSON.parse(line) as Record<string, unknown>);
    const of = (name: string) => told.filter(({ segment }) => segment === Number(name.slice(0, 16)));
    const [cut, missing] = [of(short), of(gone)];
    assert.deepEqual([cut.length, missing.length], [1, 1]);
    const lost =
      Number(cut[0]?.['rowsWritten']) - Number(cut[0]?.['rowsKept']) + Number(missing[0]?.['rowsWritten']);
    assert.ok(lost >= 20, `${lost} events`);
    const again = tenant.with({ server });
    await again.settled(batches * 10 - lost, { flowId: flow });
    await again.caughtUp();
    await again.settled(batches * 10 - lost, { flowId: flow });
    await eventually('the files to be kept', async () => {
      const kept = (await readdir(wal)).filter((name) => !name.endsWith('.wal')).sort();
      const expected = [
        short.replace('wal', 'damaged'),
        gone.replace('wal', 'missing'),
        `${copy}.unknown`,
        '9999999999999999.unknown',
      ].sort();
      return kept.join() === expected.join() ? true : undefined;
    });
    const metrics = await call(`${server.url}/metrics`);
    assert.match(metrics.text, /^auditlog_damage_known\{kind="log_segment"\} 2$/m);
  } finally {
    await server.stop();
    await engine.stop();
    await removeDirectory(dataDir);
  }
});
