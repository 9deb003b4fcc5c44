import { text as readText } from 'node:stream/consumers';
import { limits } from './limits.ts';
import { limits as controlLimits } from '../control/limits.ts';
import { Problem } from '../base/problem.ts';
import type { CliIo } from './context.ts';

const enter = new Set(['\r', '\n', '\u0004']);
const erase = new Set(['\u007f', '\b']);
const interrupt = '\u0003';

function withTimeout<T>(work: Promise<T>): Promise<T> {
  const late = new Problem('malformed', 'no password was given');
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(late), limits.cliPasswordMsMax);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** A line typed at a terminal without showing it. */
function promptLine(io: CliIo, terminal: NodeJS.ReadStream, question: string): Promise<string> {
  io.error(question);
  terminal.setRawMode(true);
  terminal.setEncoding('utf8');
  return new Promise<string>((resolve, reject) => {
    let typed = '';

    function finish(): void {
      terminal.off('data', take);
      terminal.setRawMode(false);
      terminal.pause();
      io.error('\n');
    }

    function take(piece: string): void {
      for (const character of piece) {
        if (character === interrupt) {
          finish();
          reject(new Error('interrupted'));
          return;
        }
        if (enter.has(character)) {
          finish();
          resolve(typed);
          return;
        }
        if (erase.has(character)) typed = Array.from(typed).slice(0, -1).join('');
        else if (typed.length < controlLimits.passwordBytesMax) typed += character;
      }
    }

    terminal.on('data', take);
    terminal.resume();
  });
}

function terminalOf(input: CliIo['input']): NodeJS.ReadStream | undefined {
  return 'isTTY' in input && input.isTTY ? input : undefined;
}

/**
 * A password from standard input (`--password-stdin`; one line end at its end is dropped), or typed twice at a
 * terminal. It is never an argument: those are seen by every user of the machine. Throws Problem `malformed`.
 */
export async function readPassword(io: CliIo, fromStdin: boolean): Promise<string> {
  if (fromStdin) {
    const given = await withTimeout(readText(io.input));
    return given.replace(/\r?\n$/, '');
  }
  const terminal = terminalOf(io.input);
  if (terminal === undefined) {
    throw new Problem(
      'malformed',
      'standard input is no terminal: give the password there with --password-stdin',
    );
  }
  const first = await withTimeout(promptLine(io, terminal, 'Password: '));
  const second = await withTimeout(promptLine(io, terminal, 'Again: '));
  if (first !== second) throw new Problem('malformed', 'the passwords differ');
  return first;
}
