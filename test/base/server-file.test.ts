import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { cp, mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { lockDirectory } from '../../src/base/files/directory-lock.ts';
import { createLogger } from '../../src/base/observability/log.ts';
import {
  answers,
  readServerFile,
  removeServerFile,
  writeServerFile,
} from '../../src/base/files/server-file.ts';
import { temporaryDirectory } from '../support/directories.ts';

const doesAnswer = ({ url }: { readonly url: string }) => answers(url, 10_000);

test('a server is found on its own directory, but not on a copy or after it ended', async () => {
  const parent = await temporaryDirectory();
  const [original, copy] = [join(parent, 'original'), join(parent, 'copy')];
  await mkdir(original);
  const server = createServer((_, answer) => void answer.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const url = `http://127.0.0.1:${address.port}`;
  const lock = await lockDirectory(original);
  try {
    await writeServerFile(original, { url }, createLogger('silent'));
    assert.equal((await readServerFile(original, doesAnswer))?.url, url);
    await mkdir(copy);
    await cp(join(original, 'server.json'), join(copy, 'server.json'));
    assert.equal(await readServerFile(copy, doesAnswer), undefined);
    await removeServerFile(copy);
    assert.equal((await readServerFile(original, doesAnswer))?.url, url);
  } finally {
    await lock.release();
    server.close();
  }
  assert.equal(await readServerFile(original, doesAnswer), undefined);
  await rm(parent, { recursive: true });
});
