import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Figures of a process from the kernel; Linux only; undefined if unknown. */

/** The kernel counts processor time in ticks of 10 ms on every Linux that Node runs on. */
const microsPerTick = 10_000;

/** User and system time of all threads since the process began, in microseconds. */
export function cpuMicros(pid: number | undefined): number | undefined {
  const path = `/proc/${pid ?? 0}/stat`;
  if (pid === undefined || !existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8');
  // The command is in parentheses and may contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * microsPerTick;
}

function statusBytes(pid: number | undefined, field: 'VmHWM' | 'VmRSS'): number | undefined {
  const path = `/proc/${pid ?? 0}/status`;
  if (pid === undefined || !existsSync(path)) return undefined;
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(path, 'utf8'))?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

export const residentBytes = (pid: number | undefined): number | undefined => statusBytes(pid, 'VmRSS');

/** Peak of resident memory since the start, or since `forgetPeak`. */
export const peakBytes = (pid: number | undefined): number | undefined => statusBytes(pid, 'VmHWM');

export function forgetPeak(pid: number | undefined): void {
  const path = `/proc/${pid ?? 0}/clear_refs`;
  if (pid !== undefined && existsSync(path)) writeFileSync(path, '5');
}
