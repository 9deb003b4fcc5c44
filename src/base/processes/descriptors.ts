import { readFileSync } from 'node:fs';
import { errorCode } from '../errors/system-error.ts';

/** If the system reports no limit: Linux's maximum for a process (fs.nr_open). */
const unlimitedDescriptors = 1_048_576;

export function descriptorsMax(): number {
  const match = /^Max open files\s+(\d+)/m.exec(limitsOfProcess());
  return match === null ? unlimitedDescriptors : Number(match[1]);
}

function limitsOfProcess(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1');
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'EACCES') return '';
    throw error;
  }
}
