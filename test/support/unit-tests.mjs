import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Prints the test files of `npm run test:unit`: those that start neither the service nor an engine nor a command, but
 * for a few that take seconds each. They are found by what they import, so a new one needs no entry here.
 */
const starts =
  /support\/(server|engine|plain-engine|limited-engine|cli-command)\.ts'|\/(support|session-support|forward-support|export-support|portal-admin-support)\.ts'|\b(openIngest|EventsService)\b/;
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

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map((name) => join('test', name))
  .filter((path) => path.endsWith('.test.ts') && !slow.has(path) && !starts.test(readFileSync(path, 'utf8')));
process.stdout.write(`${files.toSorted().join('\n')}\n`);
