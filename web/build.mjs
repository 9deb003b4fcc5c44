// @ts-check
/**
 * Builds the page into `dist/web`. With `--if-changed` only if a source is newer than the page, with a line
 * on standard error.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('..', import.meta.url));
/** Unix milliseconds; of a folder, when a file was added or removed. @param {string} path */
const changedAt = (path) => statSync(join(project, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;

const names = readdirSync(join(project, 'web'), { recursive: true, encoding: 'utf8' });
const sources = ['package-lock.json', 'web', ...names.map((name) => join('web', name))];
const isFresh = Math.max(...sources.map(changedAt)) <= changedAt('dist/web/index.html');
if (process.argv[2] === '--if-changed' && isFresh) {
  process.stderr.write('auditlog: starting\n');
} else {
  if (process.argv[2] === '--if-changed') process.stderr.write('auditlog: building the web page, once\n');
  const { build } = await import('vite');
  await build({
    configFile: join(project, 'web/vite.config.ts'),
    root: join(project, 'web'),
    logLevel: 'warn',
  });
}
