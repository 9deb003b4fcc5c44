/**
 * The process that is the embedded engine; started by engine-process and by nothing else.
 *
 *     argv: <engine library> <argument of the engine>…
 *
 * The engine runs in a native thread of this process, which leaves the main thread free for one duty: when standard
 * input ends, the parent is gone (however it ended), and this process ends itself. It has to be SIGKILL, because the
 * engine's own teardown inside a host process crashes and `process.exit` waits for it for ever; what was acknowledged
 * has been fsynced before.
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
// The parent decides when the engine stops: it drains first. A terminal or a service manager signals everyone.
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
