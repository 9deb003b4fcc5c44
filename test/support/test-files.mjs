import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Which test files run together in one process, found by what they import, so that a new one needs no entry anywhere.
 * Each process costs three quarters of a second of the processor before its first test, each service another two, a
 * browser three.
 */

/** What starts a service, an engine or a command for the file alone. */
const starts =
  /support\/(server|kept-service|engine|plain-engine|chosen-engine|cli-command)\.ts'|\/(support|session-support|forward-support|export-support|portal-admin-support)\.ts'|\b(openIngest|EventsService|runPlan)\b/;
/**
 * These look at the memory of their process, let it run out in a thread, or set its timers, on which connections of others
 * in the process depend.
 */
const alone = new Set([
  'test/control/password-throttle.test.ts',
  'test/ingest/hostile-bodies.test.ts',
  'test/ingest/pool.test.ts',
]);
/** Node runs files by name: the names there begin with a digit, so that the long groups come first and none is left alone. */
const together = 'test/together';

function kindOf(path) {
  if (path.startsWith(together)) return 'group';
  if (alone.has(path)) return 'alone';
  const text = readFileSync(path, 'utf8');
  if (/\bsharedPage\(/.test(text)) return 'page';
  if (/\bsharedServer\(/.test(text)) return 'server';
  if (/\bsharedEngine\(/.test(text)) return 'engine';
  if (!starts.test(text)) return 'plain';
  return /^test\/(e2e|cli|fuzz|simulator)\//.test(path) ? 'service' : 'part';
}

/**
 * The test files of a kind: `plain` starts nothing, `server`, `engine` and `page` use the shared ones, `service` starts
 * its own in other processes, `part` starts parts of a service in its own process. Files of one of these kinds run
 * together, in the processes that `test/together` has for it, which are of kind `group`; files of kind `alone` do not.
 *
 * @param {'plain' | 'server' | 'engine' | 'page' | 'service' | 'part' | 'group' | 'alone'} kind
 */
export function testFiles(kind) {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((name) => join('test', name))
    .filter((path) => path.endsWith('.test.ts') && kindOf(path) === kind)
    .toSorted();
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
  'shared-limits',
  'writers',
  // About the embedded engine: its files, its process, what its data directory stands for.
  'damage',
  'full-disk',
  'health',
  'import',
  'operator',
  'start',
  'upgrade',
  // About what stands before the service, or about no service.
  'kill-seed',
  'pages',
  'proxy',
  'tls',
  'traces',
]);

/** The black-box suite: what `npm run test:server` and `npm run test:cluster` run on other engines. A new file belongs to it. */
function blackBoxFiles() {
  return readdirSync('test/e2e')
    .filter((name) => name.endsWith('.test.ts') && !ofOneEngine.has(name.slice(0, -'.test.ts'.length)))
    .map((name) => join('test/e2e', name))
    .toSorted();
}

// What `npm test` runs, or the black-box suite.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found =
    process.argv[2] === 'black-box' ? blackBoxFiles() : [...testFiles('group'), ...testFiles('alone')];
  process.stdout.write(found.join('\n') + '\n');
}
