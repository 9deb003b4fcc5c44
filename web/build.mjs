// @ts-check
/**
 * Builds the page into `dist/web`. With `--if-changed` only where its sources are others than those it was built of, and it
 * says so on standard error: people wait for it.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('..', import.meta.url));
/** What the page that is there was built of: nowhere where it would be packed or served. */
const mark = join(project, 'node_modules/.cache/auditlog/web.sources');

/** Of all that the page is made of. @returns {string} */
function sources() {
  const hash = createHash('sha256').update(process.version);
  const names = readdirSync(join(project, 'web'), { recursive: true, encoding: 'utf8' })
    .map((name) => join('web', name))
    .sort();
  for (const name of [...names, 'schema/openapi.d.ts', 'package-lock.json']) {
    const path = join(project, name);
    if (statSync(path).isFile()) hash.update(`${name}\n`).update(readFileSync(path));
  }
  return hash.digest('hex');
}

/** Undefined where there is none. @returns {string | undefined} */
function builtOf() {
  try {
    statSync(join(project, 'dist/web/index.html'));
    return readFileSync(mark, 'utf8');
  } catch {
    return undefined;
  }
}

const now = sources();
if (process.argv[2] === '--if-changed' && builtOf() === now) {
  process.stderr.write('auditlog: starting\n');
} else {
  if (process.argv[2] === '--if-changed') process.stderr.write('auditlog: building the web page, once\n');
  const { build } = await import('vite');
  await build({
    configFile: join(project, 'web/vite.config.ts'),
    root: join(project, 'web'),
    logLevel: 'warn',
  });
  mkdirSync(dirname(mark), { recursive: true });
  writeFileSync(mark, now);
}
