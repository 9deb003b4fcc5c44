import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { projectRoot } from '../support/project-root.ts';

const run = promisify(execFile);

/** A profile for containers. */
interface Profile {
  readonly defaultAction: 'SCMP_ACT_ERRNO';
  readonly defaultErrnoRet: number;
  readonly syscalls: readonly { readonly names: readonly string[]; readonly action: 'SCMP_ACT_ALLOW' }[];
}

const notPermitted = 1;

/** The system calls of a set of systemd, including nested sets. */
async function callsOf(set: string): Promise<string[]> {
  const { stdout } = await run('systemd-analyze', ['syscall-filter', set]);
  const members = stdout
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const calls = members.map(async (member) => (member.startsWith('@') ? callsOf(member) : [member]));
  return (await Promise.all(calls)).flat();
}

/** The unit's filter as a profile, because only a running systemd could apply it; a reason without systemd. */
export async function syscallFilter(): Promise<Profile | string> {
  const unit = await readFile(new URL('deploy/systemd/auditlog.service', projectRoot), 'utf8');
  const filters = [...unit.matchAll(/^SystemCallFilter=(~?)(.+)$/gm)];
  const allowed = new Set<string>();
  try {
    for (const call of await callsOf('@default')) allowed.add(call);
    for (const [, without, sets = ''] of filters)
      for (const set of sets.split(' '))
        for (const call of await callsOf(set)) {
          if (without === '~') allowed.delete(call);
          else allowed.add(call);
        }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return 'NOT TESTED: systemd-analyze is not installed';
    throw error;
  }
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: notPermitted,
    syscalls: [{ names: [...allowed], action: 'SCMP_ACT_ALLOW' }],
  };
}
