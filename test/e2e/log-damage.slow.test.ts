import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkLogFolder } from '../../src/cli/doctor/damage.ts';
import { call, eventually } from '../support/http.ts';
import { startPlainEngine } from '../support/plain-engine.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, sourceEvent, startServer } from '../support/server.ts';

test('damage in the log during an outage of the engine is reported, and nothing else is lost or doubled', async () => {
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
    // At a frame's border: the rest of the file is intact.
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

// `recovery.test.ts` removes the newest segments, or all.
test('a removed log is reported, with wal-head or without; an empty closed one is not', async () => {
  const dataDir = await temporaryDirectory();
  const wal = join(dataDir, 'wal');
  let server = await startServer({ dataDir });
  const told = (words: string) => server.stderrLines().filter((line) => line.includes(words)).length;
  const missing = 'wal-head is missing: cannot check that the newest segments of the log exist';
  const gone = 'he newest segments of the log are missing, up to this one';
  const isDamaged = async () => {
    const metric = /^auditlog_damage_known\{kind="log_segment"\} 1$/m;
    assert.match((await call(`${server.url}/readyz`)).text, /log_segment/);
    return metric.test((await call(`${server.url}/metrics`)).text);
  };
  try {
    const tenant = await createTenant(server, 'gone');
    await tenant.record([sourceEvent(), sourceEvent()]);
    await server.kill('SIGKILL');
    await rm(wal, { recursive: true });
    await rm(join(dataDir, 'wal-head'));
    server = await startServer({ dataDir });
    assert.equal(told(missing), 1);
    assert.ok(await isDamaged());
    await tenant.with({ server }).record([sourceEvent()]);
    await server.kill('SIGKILL');
    await rm(wal, { recursive: true });
    server = await startServer({ dataDir });
    assert.deepEqual([told(missing), told(gone)], [0, 1]);
    assert.ok(await isDamaged());
    const { findings } = await checkLogFolder(dataDir);
    assert.equal(findings.length, 1);
    await unlink(join(wal, findings[0]?.id ?? ''));
    await tenant.with({ server }).record([sourceEvent()]);
    assert.equal(await server.stop(), 0);
    await rm(wal, { recursive: true });
    server = await startServer({ dataDir });
    assert.deepEqual([told(missing), told(gone)], [0, 0], 'it was empty');
    assert.doesNotMatch((await call(`${server.url}/readyz`)).text, /log_segment/);
  } finally {
    await server.stop();
    await removeDirectory(dataDir);
  }
});
