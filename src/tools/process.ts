import { fileErrorWords } from '../base/errors/system-error.ts';
import type { ToolDeps } from './context.ts';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** npm repeats a Ctrl-C that the terminal sent to the whole group. */
const sameSignalMs = 1000;

/**
 * The first signal asks for an orderly stop, like a closed terminal. Signals within a second count as one; a
 * later one stops at once.
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

export const processDeps: Omit<ToolDeps, 'environment'> = {
  io: {
    out: (text) => process.stdout.write(text),
    error: (text) => process.stderr.write(text),
    output: process.stdout,
    errorIsTerminal: process.stderr.isTTY,
    input: process.stdin,
  },
  untilStopped,
};

export async function runProcess(commands: () => Promise<number>): Promise<never> {
  // A closed pipe or terminal is no failure; a full disk is.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || error.code === 'EIO') return;
    const words = fileErrorWords(Object.assign(error, { path: 'standard output' }));
    process.stderr.write(`auditlog: ${words ?? `standard output: ${error.message}`}\n`);
    process.exit(1);
  });
  // There is no other output left.
  process.stderr.on('error', () => undefined);
  const code = await commands();
  // Reports a failure of the last output before this one.
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  process.exit(code);
}
