import { readFile, readlink } from 'node:fs/promises';

/** Tells a process on this machine from a later one with its id. */
export interface ProcessIdentity {
  /** The boot of the machine and the namespace of process ids; empty: not known. */
  readonly place: string;
  readonly pid: number;
  /** When it began, as the system counts it; empty: not known. */
  readonly begun: string;
}

export async function ownIdentity(): Promise<ProcessIdentity> {
  const { pid } = process;
  return { place: await placeOfProcesses(), pid, begun: (await stateOf(pid))?.begun ?? '' };
}

/** True only if it is certain; never for another machine or container. */
export async function hasEnded({ place, pid, begun }: ProcessIdentity): Promise<boolean> {
  if (place === '' || begun === '' || place !== (await placeOfProcesses())) return false;
  const now = await stateOf(pid);
  return now === undefined || now.begun !== begun || now.isDead;
}

async function placeOfProcesses(): Promise<string> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'latin1');
    return `${boot.trim()} ${await readlink('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

/** Undefined: there is no such process. */
async function stateOf(
  pid: number,
): Promise<{ readonly begun: string; readonly isDead: boolean } | undefined> {
  let text: string;
  try {
    text = await readFile(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // "pid (name) state …", the name may hold anything; the time is the 22nd of all.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { begun: fields[19] ?? '', isDead: fields[0] === 'Z' || fields[0] === 'X' };
}
