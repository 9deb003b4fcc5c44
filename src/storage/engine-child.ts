/**
 * Started by engine-process.ts:
 *
 *     argv: <engine library> <argument of the engine>…
 *
 * The engine runs in a native thread. The main thread ends the process when standard input closes, as the parent is gone. Only
 * SIGKILL works: the engine's teardown crashes, and `process.exit` would wait for ever.
 */
import { DataType, load, open } from 'ffi-rs';

const [libraryPath = '', ...engineArguments] = process.argv.slice(2);

function endNow(): void {
  process.kill(process.pid, 'SIGKILL');
}

process.umask(0o077);
process.stdin.on('end', endNow);
process.stdin.on('error', endNow);
process.stdin.resume();
// Signals reach the whole group, but the parent stops the engine after draining.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const commandLine = ['clickhouse', ...engineArguments];
open({ library: 'chdb', path: libraryPath });
load({
  library: 'chdb',
  funcName: 'chdb_query_cmdline',
  retType: DataType.External,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [commandLine.length, commandLine],
  runInNewThread: true,
}).then(endNow, (error: unknown) => {
  process.stderr.write(`${String(error)}\n`, endNow);
});
