import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { stat, writeFile } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Problem } from '../../src/base/errors/problem.ts';
import { askServer, type CommandRequest, listenToCommands } from '../../src/control/command-socket.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { patience } from '../support/patience.ts';

const waitMsMax = patience(20_000);
const request: CommandRequest = {
  version: '1.2.3',
  id: '00000000-0000-0000-0000-000000000001',
  operator: 'root@here',
  change: 'createUser',
  values: [{ password: 'secret' }],
};

let dataDir: string;
let socket: string;
let stop: (() => Promise<void>) | undefined;
const asked: CommandRequest[] = [];
const logged: unknown[] = [];

beforeEach(async () => {
  dataDir = await temporaryDirectory();
  socket = join(dataDir, 'control.sock');
  asked.length = 0;
  logged.length = 0;
});
afterEach(async () => {
  await stop?.();
  stop = undefined;
  await removeDirectory(dataDir);
});

async function listen(
  change: () => Promise<unknown>,
  settled: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const note = (...said: unknown[]) => void logged.push(said);
  stop = await listenToCommands({
    dataDir,
    version: '1.2.3',
    log: { ...silentLog, debug: note, info: note, warn: note, error: note },
    change(one) {
      asked.push(one);
      return change();
    },
    settled,
  });
}

const ask = (more: Partial<CommandRequest> = {}) => askServer(dataDir, { ...request, ...more }, waitMsMax);

test('a command has its change made, and waits until its events are stored', async () => {
  assert.equal(await ask(), undefined, 'no server is there');
  const done: string[] = [];
  await listen(
    async () => ({ id: 7 }),
    async () => void done.push('stored'),
  );
  assert.equal((await stat(socket)).mode & 0o777, 0o600);
  assert.deepEqual(await ask(), { result: { id: 7 } });
  assert.deepEqual([asked, done], [[request], ['stored']]);
});

test('a refusal and a failure arrive unchanged, and the log has no request', async () => {
  const refusal = new Problem('conflict', 'taken already', { members: { would_remove: 3 } });
  await listen(() => Promise.reject(refusal));
  await assert.rejects(ask(), (error) => {
    assert.ok(error instanceof Problem);
    assert.deepEqual(
      [error.code, error.message, error.options.members],
      ['conflict', 'taken already', { would_remove: 3 }],
    );
    return true;
  });
  await stop?.();
  await listen(() => Promise.reject(new Error('the disk is full')));
  await assert.rejects(ask(), /the disk is full/);
  assert.ok(!JSON.stringify(logged).includes('secret'), JSON.stringify(logged));
});

test('a server of another version refuses in words, and changes nothing', async () => {
  await listen(async () => undefined);
  await assert.rejects(ask({ version: '1.2.4' }), /has version 1\.2\.3 and this command 1\.2\.4/);
  assert.deepEqual(asked, []);
});

test('the socket of a killed server is none, and the next server takes its place', async () => {
  await writeFile(socket, '');
  assert.equal(await ask(), undefined);
  await listen(async () => 'done');
  assert.deepEqual(await ask(), { result: 'done' });
});

test('an answer that is lost is none', async () => {
  const cutting = createServer((connection) => {
    connection.once('data', () => connection.end('{"resu'));
  });
  cutting.listen(socket);
  await once(cutting, 'listening');
  assert.equal(await ask(), undefined);
  cutting.close();
});

test('an invalid or long request is dropped, and the server continues', async () => {
  await listen(async () => 'done');
  for (const text of ['x\n', `"${'x'.repeat(33 * 1024 * 1024)}`]) {
    const connection = createConnection(socket);
    const closed = new Promise((resolve) => connection.once('close', resolve));
    connection.on('error', () => undefined);
    connection.resume();
    connection.write(text);
    await closed;
  }
  assert.deepEqual(await ask(), { result: 'done' });
  assert.equal(asked.length, 1);
});
