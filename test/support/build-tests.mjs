import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Compiles the tests, and the sources that they import, into build-test/, for `npm test`: each of its many processes
 * starts with a quarter less work than from TypeScript. Beside them stands what tests look for in the project.
 */
const out = 'build-test';
rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'test/support'), { recursive: true });

const support = readdirSync('test/support').filter((name) => /\.[cm]js$/.test(name));
const beside = ['dist', 'docs', 'package.json', 'schema', 'test/fixtures'];
for (const path of [...beside, ...support.map((name) => join('test/support', name))])
  symlinkSync(join(process.cwd(), path), join(out, path));

const { status } = spawnSync('npx', ['tsc', '-p', 'tsconfig.test.json'], { stdio: 'inherit' });
process.exitCode = status ?? 1;
