import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isSameFile } from '../base/files/durable-file.ts';

export interface Holder {
  readonly pid: number;
  /** The process that has started it: a server, or a command. */
  readonly startedBy: number;
  /** By SIGSTOP or a debugger: it does not notice that its server has gone. */
  readonly stopped: boolean;
}

async function factsOf(pid: number): Promise<Holder> {
  // "pid (name) state parent …"; the name may hold anything.
  const text = await readFile(`/proc/${pid}/stat`, 'latin1');
  const [state = '', parent = ''] = text
    .slice(text.lastIndexOf(')') + 1)
    .trim()
    .split(' ');
  return { pid, startedBy: Number(parent), stopped: state === 'T' || state === 't' };
}

/**
 * The process of an engine that has locked `engineDir`, as far as the system tells; undefined elsewhere than on Linux,
 * for a process that cannot be looked at, and when it has gone meanwhile.
 */
export async function engineHolder(engineDir: string): Promise<Holder | undefined> {
  try {
    const { ino } = await stat(join(engineDir, 'status'), { bigint: true });
    for (const line of (await readFile('/proc/locks', 'utf8')).split('\n')) {
      const [, pid, locked] = /FLOCK +\w+ +WRITE +(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /.exec(line) ?? [];
      // A number of a file is unique on its disk only; an engine works in its own directory.
      if (pid === undefined || locked !== String(ino)) continue;
      if (!(await isSameFile(`/proc/${pid}/cwd`, engineDir))) continue;
      return await factsOf(Number(pid));
    }
  } catch (error) {
    // No such file, or not for this user to see.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
  return undefined;
}
