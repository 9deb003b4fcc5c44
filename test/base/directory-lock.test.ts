import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { lockDirectory } from '../../src/base/directory-lock.ts';
import { temporaryDirectory } from '../support/engine.ts';

describe('lock of the data directory', () => {
  let parent: string;
  let directory: string;
  before(async () => {
    parent = await temporaryDirectory();
    // Longer than the path of a socket may be.
    directory = join(parent, 'a'.repeat(120));
    await mkdir(directory);
  });
  after(() => rm(parent, { recursive: true, force: true }));

  it('is held by one, and free again after it is released', async () => {
    const lock = await lockDirectory(directory);
    await assert.rejects(lockDirectory(directory), { message: `another process uses DATA_DIR ${directory}` });
    await lock.release();
    await (await lockDirectory(directory)).release();
  });

  it('goes to one of many that ask at the same time', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => lockDirectory(directory)));
    const held = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    assert.ok(held.length <= 1, `${held.length} hold it`);
    for (const { value } of held) await value.release();
  });

  it('ends with a process that is killed', async () => {
    const module = new URL('../../src/base/directory-lock.ts', import.meta.url).href;
    const script = `const { lockDirectory } = await import(${JSON.stringify(module)});
      await lockDirectory(${JSON.stringify(directory)}); console.log('held'); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script]);
    await once(child.stdout, 'data');
    await assert.rejects(lockDirectory(directory), /another process/);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await (await lockDirectory(directory)).release();
  });
});
