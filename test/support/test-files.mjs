import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Groups test files by name and imports, so new files need no entry. `npm test` runs `*.test.ts`, `npm run test:all`
 * `*.slow.test.ts`. Files share processes and services: a process costs three quarters of a second of the processor, a
 * service two, a browser three.
 */
const suite = process.env['TEST_SUITE'] ?? 'quick';
if (suite !== 'quick' && suite !== 'slow') throw new Error(`TEST_SUITE is quick or slow, not ${suite}`);
const isSlow = (/** @type {string} */ path) => path.endsWith('.slow.test.ts');

/** Starts of a service, an engine or a command for one file. */
const starts =
  /support\/(server|kept-service|engine|plain-engine|chosen-engine|cli-command)\.ts'|\/(support|session-support|forward-support|export-support|portal-admin-support)\.ts'|\b(openIngest|runPlan)\b/;
/** Files that read their process's memory, exhaust it in a thread, or set timers on which other connections depend. */
const alone = new Set([
  'test/control/password-throttle.test.ts',
  'test/ingest/hostile-bodies.slow.test.ts',
  'test/ingest/pool.test.ts',
]);
/** Names begin with a digit, so that long groups start first. */
const together = 'test/together';

function kindOf(path) {
  if (alone.has(path)) return 'alone';
  const text = readFileSync(path, 'utf8');
  if (/\b(sharedPage|pageServer)\(/.test(text)) return 'page';
  if (/\bsharedServer\(/.test(text)) return 'server';
  if (/\bsharedEngine\(/.test(text)) return 'engine';
  if (!starts.test(text)) return 'plain';
  return /^test\/(e2e|cli|fuzz|simulator)\//.test(path) ? 'service' : 'part';
}

/**
 * The test files of a kind: `plain` starts nothing; `server`, `engine` and `page` use the shared ones; `service` starts its
 * own processes; `part` starts parts of a service in its process. `test/together` runs files of one kind together, except
 * `alone`.
 *
 * @param {'plain' | 'server' | 'engine' | 'page' | 'service' | 'part' | 'alone'} kind
 */
export function testFiles(kind) {
  return namesIn('test')
    .filter(
      (path) => !path.startsWith(together) && isSlow(path) === (suite === 'slow') && kindOf(path) === kind,
    )
    .toSorted();
}

function namesIn(directory) {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => path.endsWith('.test.ts'));
}

/** End-to-end tests of the embedded engine only. */
const ofOneEngine = new Set([
  // They start their own engine.
  'clock',
  'cluster',
  'cluster-image',
  'cluster-lag',
  'engine-down',
  'engines',
  'log-damage',
  'processes',
  'replicas',
  'shared-limits',
  'writers',
  // About the embedded engine's files, process and data directory.
  'damage',
  'full-disk',
  'health',
  'import',
  'start',
  // About no service, or what is in front of it.
  'pages',
  'tls',
  'traces',
]);

/** The suite of `npm run test:server` and `npm run test:cluster`. New files belong to it. */
function blackBoxFiles() {
  return namesIn('test/e2e')
    .filter((path) => !ofOneEngine.has(basename(path).replace(/(\.slow)?\.test\.ts$/, '')))
    .toSorted();
}

// Prints the files of a suite.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found =
    process.argv[2] === 'black-box'
      ? blackBoxFiles()
      : [...namesIn(together).toSorted(), ...testFiles('alone')];
  process.stdout.write(found.join('\n') + '\n');
}
