import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Which test files run, and together in one process, found by their name and by what they import, so that a new one needs
 * no entry anywhere. `npm test` runs `*.test.ts`, `npm run test:all` runs `*.slow.test.ts`. Each process costs three
 * quarters of a second of the processor before its first test, each service another two, a browser three.
 */
const suite = process.env['TEST_SUITE'] ?? 'quick';
if (suite !== 'quick' && suite !== 'slow') throw new Error(`TEST_SUITE is quick or slow, not ${suite}`);
const isSlow = (/** @type {string} */ path) => path.endsWith('.slow.test.ts');

/** What starts a service, an engine or a command for the file alone. */
const starts =
  /support\/(server|kept-service|engine|plain-engine|chosen-engine|cli-command)\.ts'|\/(support|session-support|forward-support|export-support|portal-admin-support)\.ts'|\b(openIngest|runPlan)\b/;
/**
 * These look at the memory of their process, let it run out in a thread, or set its timers, on which connections of others
 * in the process depend.
 */
const alone = new Set([
  'test/control/password-throttle.test.ts',
  'test/ingest/hostile-bodies.slow.test.ts',
  'test/ingest/pool.test.ts',
]);
/** Node runs files by name: the names there begin with a digit, so that the long groups come first and none is left alone. */
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
 * The test files of a kind: `plain` starts nothing, `server`, `engine` and `page` use the shared ones, `service` starts
 * its own in other processes, `part` starts parts of a service in its own process. Files of one of these kinds run
 * together, in the processes that `test/together` has for it; files of kind `alone` do not.
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

/** End-to-end tests that say nothing about a service on another engine than the embedded one. */
const ofOneEngine = new Set([
  // They bring the engine that they are about.
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
  // About the embedded engine: its files, its process, what its data directory stands for.
  'damage',
  'full-disk',
  'health',
  'import',
  'start',
  // About what stands before the service, or about no service.
  'pages',
  'tls',
  'traces',
]);

/** The black-box suite: what `npm run test:server` and `npm run test:cluster` run on other engines. A new file belongs to it. */
function blackBoxFiles() {
  return namesIn('test/e2e')
    .filter((path) => !ofOneEngine.has(basename(path).replace(/(\.slow)?\.test\.ts$/, '')))
    .toSorted();
}

// What the suite runs, or the black-box suite.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found =
    process.argv[2] === 'black-box'
      ? blackBoxFiles()
      : [...namesIn(together).toSorted(), ...testFiles('alone')];
  process.stdout.write(found.join('\n') + '\n');
}
