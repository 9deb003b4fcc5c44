import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';

/**
 * Compiles the tests, and the sources that they import, into build-test/, for `npm test`: each of its many processes
 * starts with a quarter less work than from TypeScript. Beside them stands what the sources read at run time.
 */
const out = 'build-test';
rmSync(out, { recursive: true, force: true });
mkdirSync(out);
symlinkSync('../schema', `${out}/schema`);
const { status } = spawnSync('npx', ['tsc', '-p', 'tsconfig.test.json'], { stdio: 'inherit' });
process.exitCode = status ?? 1;
