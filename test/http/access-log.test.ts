import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { systemClock } from '../../src/base/time/clock.ts';
import { limits } from '../../src/http/limits.ts';
import { accessLine, AccessLog, type AccessRecord } from '../../src/http/access-log.ts';
import { recordingLogger, until } from './support.ts';

const record: AccessRecord = {
  status: 200,
  latencyMs: 1.53249,
  method: 'GET',
  path: '/api/v1/audit',
  ip: '127.0.0.1',
  port: '0',
  bytesSent: 10,
  bytesReceived: 0,
};

test('a line is JSON on one line, for any path', () => {
  assert.equal(
    accessLine(record, '2026-01-01T00:00:00.000Z'),
    '{"timestamp":"2026-01-01T00:00:00.000Z","status":200,"latency":"1.532ms","method":"GET","path":"/api/v1/audit",' +
      '"ip":"127.0.0.1","port":"0","bytesSent":10,"bytesReceived":0}\n',
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (path, method) => {
      const line = accessLine({ ...record, path, method }, 'now');
      assert.equal(line.indexOf('\n'), line.length - 1);
      const parsed = JSON.parse(line) as Record<string, unknown>;
      assert.equal(parsed['path'], path);
      assert.equal(parsed['method'], method);
    }),
  );
});

test('a reader that stalls costs lines beyond the bound, and they are counted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'access-log-'));
  const fifo = join(folder, 'pipe');
  execFileSync('mkfifo', [fifo]);
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK);
  const log = new AccessLog({ destination: writer, clock: systemClock, log: recordingLogger([]) });
  const lines = Math.ceil((limits.accessLogBufferedBytesMax * 1.5) / 180);
  for (let i = 0; i < lines; i++) log.write(record);
  await until(() => log.dropped() > 0);
  assert.ok(log.dropped() < lines * 0.6);
  const closing = log.close();
  closeSync(reader);
  await closing;
  closeSync(writer);
  rmSync(folder, { recursive: true });
});

test('close writes pending lines, and an output that fails is logged once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'access-log-'));
  const file = join(folder, 'log');
  const log = new AccessLog({ destination: file, clock: systemClock, log: recordingLogger([]) });
  for (let i = 0; i < 1000; i++) log.write(record);
  await log.close();
  assert.equal(readFileSync(file, 'utf8').split('\n').length, 1001);
  rmSync(folder, { recursive: true });

  const logged: Parameters<typeof recordingLogger>[0] = [];
  const full = new AccessLog({
    destination: '/dev/full',
    clock: systemClock,
    log: recordingLogger(logged),
  });
  for (let i = 0; i < 2000; i++) full.write(record);
  await until(() => logged.length > 0);
  await full.close();
  assert.deepEqual(
    logged.map(({ words }) => words),
    ['The access log cannot be written'],
  );
});

const program = `
import { systemClock } from '${new URL('../../src/base/time/clock.ts', import.meta.url).href}';
import { AccessLog } from '${new URL('../../src/http/access-log.ts', import.meta.url).href}';
const say = (facts, words) => console.error(words);
const log = new AccessLog({ destination: 1, clock: systemClock, log: { debug: say, info: say, warn: say, error: say } });
let n = 0;
const timer = setInterval(() => {
  for (let i = 0; i < 1000; i++) log.write(${JSON.stringify(record)});
  if (++n === 20) { clearInterval(timer); log.close().then(() => console.error('survived')); }
}, 10);
`;

test('a closed standard output does not end the process', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (data) => (errors += String(data)));
  child.stdout.once('data', () => child.stdout.destroy());
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0, errors);
  assert.match(errors, /survived/);
});
