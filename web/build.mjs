// @ts-check
/**
 * Builds the page into `dist/web`. With `--if-changed` only where something that it is made of is newer than the page that
 * is there, and it says so on standard error: people wait for it.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('..', import.meta.url));
/** Unix milliseconds; of a folder, when something came into it or went. @param {string} path */
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
