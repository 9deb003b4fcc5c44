import { fileErrorWords } from './base/errors/system-error.ts';
import { runCli } from './cli/program.ts';
import { readEnvironment } from './config/env.ts';
import { eventHead, eventTail } from './ocsf/envelope.ts';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** npm hands on a Ctrl-C that the terminal has sent to all of the group already. */
const sameSignalMs = 1000;

/**
 * The first signal asks for an orderly end, and so does a terminal that is closed. More of them within a second are the
 * same one; a later one takes the system's default and ends at once.
 */
function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      resolve();
      setTimeout(() => {
        for (const signal of stopSignals) process.off(signal, stop);
      }, sameSignalMs).unref();
    };
    for (const signal of stopSignals) process.on(signal, stop);
  });
}

// A reader that has gone away, such as `head` or a terminal that was closed, is no reason to fail; a full disk is.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE' || error.code === 'EIO') return;
  const words = fileErrorWords(Object.assign(error, { path: 'standard output' }));
  process.stderr.write(`auditlog: ${words ?? `standard output: ${error.message}`}\n`);
  process.exit(1);
});
// There is nowhere left to tell it.
process.stderr.on('error', () => undefined);

const code = await runCli(process.argv.slice(2), {
  environment: readEnvironment(),
  io: {
    out: (text) => process.stdout.write(text),
    error: (text) => process.stderr.write(text),
    output: process.stdout,
    errorIsTerminal: process.stderr.isTTY,
    input: process.stdin,
  },
  // Loaded when there is something to record: listing keys need not wait for the schema compiler.
  recordEvents: async (on, events) => (await import('./cli/record-events.ts')).recordEvents(on, events),
  eventEnvelope: (config) => ({ head: eventHead, tail: eventTail(config) }),
  startService: async (config, parts) => (await import('./main.ts')).startService(config, parts),
  startProcesses: async (config, environment, outputs) => {
    const envelope = { head: eventHead, tail: eventTail(config) };
    const { startProcesses } = await import('./processes/supervisor.ts');
    return startProcesses({ config, environment, envelope, ...outputs });
  },
  untilStopped,
});
// A failure of what was printed last is told before this is.
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
process.exit(code);
