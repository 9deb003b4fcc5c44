/** A process that runs an engine and is killed by a test: `engine-parent.ts DATA_DIR`; prints the engine's pid. */
import { startEmbeddedEngine } from '../../src/storage/engine.ts';
import { silentLog } from '../support/engine.ts';

const engine = await startEmbeddedEngine({
  dataDir: process.argv[2] ?? '',
  database: 'audit',
  log: silentLog,
});
process.stdout.write(`${engine.pid()}\n`);
