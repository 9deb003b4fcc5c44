import { strict as assert } from 'node:assert';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { printed, runCliHere } from '../support/server.ts';
import { commandsThat, everyCommand, lineOf, namesInProgram } from './every-command.ts';

let root: string;
before(async () => {
  root = await temporaryDirectory();
});
after(() => removeDirectory(root));

describe('a directory without data', () => {
  test('the list of these tests has every command', async () => {
    const listed = Object.keys(everyCommand).map((name) => name.replace(/ --.*/, ''));
    assert.deepEqual((await namesInProgram()).toSorted(), [...new Set(listed)].toSorted());
  });

  test('commands that make no data name it, end with 2 and make nothing', async () => {
    const [absent, empty] = [join(root, 'absent'), join(root, 'empty')];
    await mkdir(empty);
    for (const name of commandsThat('data'))
      for (const dataDir of [absent, empty]) {
        const { args, stdin } = lineOf(name, root);
        const { code, stdout, stderr } = await runCliHere(args, { dataDir, stdin });
        assert.equal(code, 2, `${name}: ${stderr}`);
        assert.match(
          stderr,
          new RegExp(`^auditlog: there is no data in DATA_DIR ${dataDir}: name the directory of `),
        );
        assert.equal(stdout, '', name);
        assert.ok(!existsSync(absent), name);
        assert.deepEqual(readdirSync(empty), [], name);
      }
  });

  test('commands that do not look there make nothing there', async () => {
    const dataDir = join(root, 'not-used');
    for (const name of commandsThat('nothing').filter((one) => one !== 'forward')) {
      const { args } = lineOf(name, root);
      await runCliHere(args, { dataDir });
      assert.ok(!existsSync(dataDir), name);
    }
  });

  test('what a command has made is data for the next one', async () => {
    const dataDir = join(root, 'made');
    await mkdir(dataDir, { mode: 0o700 });
    const made = ['org', 'create', '--org', 'acme', '--name', 'Acme', '--json'];
    printed(await runCliHere(made, { dataDir }));
    const [organization] = printed(await runCliHere(['org', 'list', '--json'], { dataDir })) as {
      slug: string;
    }[];
    assert.equal(organization?.slug, 'acme');
  });
});
