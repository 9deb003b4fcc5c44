import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandClaim } from '../../src/storage/command-claims.ts';
import type { EngineConnection } from '../../src/storage/storage.ts';
import { openStorage } from '../../src/storage/client.ts';
import { announceCommand } from '../../src/storage/other-writers.ts';
import { segmentAtTime } from '../../src/base/events/sequence.ts';
import { silentLog } from '../support/engine.ts';

/** A process that has come as far as a command comes before it writes, and stands still there. Argument: DATA_DIR. */
const [dataDir = ''] = process.argv.slice(2);
const connection = JSON.parse(readFileSync(join(dataDir, 'engine.json'), 'utf8')) as EngineConnection;
await commandClaim(openStorage(connection, silentLog), silentLog).claim(segmentAtTime(Date.now()));
await announceCommand(dataDir);
process.stdout.write('claimed\n');
setInterval(() => undefined, 1_000);
