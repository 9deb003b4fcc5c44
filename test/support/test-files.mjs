import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Which test files run together in one process, found by what they import, so that a new one needs no entry anywhere.
 * Each process costs half a second of the processor before its first test, each service another three.
 */

/** What starts a service, an engine or a command for the file alone. */
const starts =
  /support\/(server|engine|plain-engine|limited-engine|cli-command)\.ts'|\/(support|session-support|forward-support|export-support|portal-admin-support)\.ts'|\b(openIngest|EventsService)\b/;
/** These start nothing, but compute for seconds. */
const slow = new Set([
  'test/demo/events.test.ts',
  'test/cli/import-chunks.test.ts',
  'test/cli/import-source.test.ts',
  'test/control/password-throttle.test.ts',
  'test/ingest/recovery.test.ts',
  'test/ingest/wal.test.ts',
  'test/ocsf/redaction.test.ts',
  'test/ocsf/source-event.test.ts',
  'test/ocsf/usual-events.test.ts',
  'test/storage/byte-reader.test.ts',
]);
const together = 'test/together';

function kindOf(path) {
  if (path.startsWith(together) || slow.has(path)) return 'alone';
  const text = readFileSync(path, 'utf8');
  if (/\bsharedServer\(/.test(text)) return 'server';
  if (/\bsharedEngine\(/.test(text)) return 'engine';
  if (!starts.test(text)) return 'plain';
  return /^test\/(e2e|cli|fuzz)\//.test(path) ? 'service' : 'alone';
}

/**
 * The test files of a kind: `plain` starts nothing, `server` and `engine` use the shared ones, `service` starts its own
 * in other processes. These run with others of their kind in `test/together`, `alone` each in a process of its own.
 *
 * @param {'plain' | 'server' | 'engine' | 'service' | 'alone'} kind
 */
export function testFiles(kind) {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((name) => join('test', name))
    .filter((path) => path.endsWith('.test.ts') && kindOf(path) === kind)
    .toSorted();
}

// Of `npm test`: the long ones first, so that no processor is idle at the end.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isLong = (path) => /^test\/(together|web)\//.test(path);
  const files = testFiles('alone');
  process.stdout.write([...files.filter(isLong), ...files.filter((path) => !isLong(path))].join('\n') + '\n');
}
