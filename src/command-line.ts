import { once } from 'node:events';
import { fileErrorWords } from './base/system-error.ts';
import { runCli } from './cli/program.ts';
import { readEnvironment } from './config/env.ts';
import { eventHead, eventTail } from './ocsf/envelope.ts';

/** The first signal asks for an orderly end; a second one takes the system's default and ends at once. */
async function untilStopped(): Promise<void> {
  const listening = new AbortController();
  const { signal } = listening;
  await Promise.race([once(process, 'SIGINT', { signal }), once(process, 'SIGTERM', { signal })]);
  listening.abort();
}

// A reader that has gone away, such as `head`, is no reason to fail; a full disk is.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  const words = fileErrorWords(Object.assign(error, { path: 'standard output' }));
  process.stderr.write(`auditlog: ${words ?? `standard output: ${error.message}`}\n`);
  process.exit(1);
});

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
