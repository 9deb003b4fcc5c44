import { createInterface } from 'node:readline';
import { text as readText } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import { Problem } from '../base/errors/problem.ts';
import type { CliIo } from '../tools/context.ts';

const cliPasswordMsMax = 120_000;

function withTimeout<T>(work: Promise<T>): Promise<T> {
  const late = new Problem('malformed', 'no password was given');
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(late), cliPasswordMsMax);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

async function promptLine(io: CliIo, input: NodeJS.ReadStream, question: string): Promise<string> {
  io.error(question);
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input, output: unseen, terminal: true, historySize: 0 });
  try {
    return await withTimeout(
      new Promise<string>((resolve, reject) => {
        terminal.once('line', resolve);
        // Ctrl-C, or Ctrl-D before any input.
        terminal.once('close', () => reject(new Error('interrupted')));
      }),
    );
  } finally {
    terminal.close();
    io.error('\n');
  }
}

/**
 * From standard input (`--password-stdin`), or typed twice at a terminal. Never an argument, which every user of the machine
 * sees. Throws Problem `malformed`.
 */
export async function readPassword(io: CliIo, fromStdin: boolean): Promise<string> {
  const { input } = io;
  if (fromStdin) return (await withTimeout(readText(input))).replace(/\r?\n$/, '');
  if (!('isTTY' in input && input.isTTY))
    throw new Problem('malformed', 'standard input is not a terminal; use --password-stdin');
  const first = await promptLine(io, input, 'Password: ');
  const second = await promptLine(io, input, 'Again: ');
  if (first !== second) throw new Problem('malformed', 'the passwords differ');
  return first;
}
