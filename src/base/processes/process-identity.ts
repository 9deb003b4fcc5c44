import { readFile, readlink } from 'node:fs/promises';

/** Distinguishes a process from a later one with the same id. */
export interface ProcessIdentity {
  /** Boot of the machine and namespace of process ids; empty: unknown. */
  readonly place: string;
  readonly pid: number;
  /** Start time in the system's units; empty: unknown. */
  readonly begun: string;
}

export async function ownIdentity(): Promise<ProcessIdentity> {
  const { pid } = process;
  return { place: await placeOfProcesses(), pid, begun: (await readState(pid))?.begun ?? '' };
}

/** True only if certain; never for another machine or container. */
export async function hasEnded({ place, pid, begun }: ProcessIdentity): Promise<boolean> {
  if (place === '' || begun === '' || place !== (await placeOfProcesses())) return false;
  const now = await readState(pid);
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

async function readState(
  pid: number,
): Promise<{ readonly begun: string; readonly isDead: boolean } | undefined> {
  let text: string;
  try {
    text = await readFile(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // "pid (name) state …"; the name may contain anything; the time is field 22.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { begun: fields[19] ?? '', isDead: fields[0] === 'Z' || fields[0] === 'X' };
}
