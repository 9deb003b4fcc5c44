import { statfs } from 'node:fs/promises';
import type { Lab } from './lab.ts';
import { UserError } from './user-error.ts';

/** Additional disk space during merges, as a share: one partition exists twice, and the newest parts are unmerged. */
const mergeShare = 0.25;
const gibibyte = 1024 ** 3;
const reportEveryMs = 5_000;

/** Progress of growing data, on standard error. */
export interface Growth {
  /** Rejects if the disk has no room for the rest. */
  inserted(rows: number): Promise<void>;
  merging(partition: string): void;
  mutating(parts: number): void;
  done(): void;
}

async function bytesOfRows({ engine, database }: Lab): Promise<number> {
  return engine.number(
    `SELECT sum(bytes_on_disk) / greatest(sum(rows), 1) FROM system.parts
     WHERE active AND database = '${database}' AND table = 'events'`,
  );
}

export function createGrowth(lab: Lab, from: number, to: number): Growth {
  const began = performance.now();
  let reportedMs = -Infinity;
  let checked = false;
  const minutes = (ms: number): string => (ms / 60_000).toFixed(1);

  /** After the first rows, estimates the time and space of the rest. */
  async function check(rows: number): Promise<void> {
    checked = true;
    const bytes = (await bytesOfRows(lab)) * (to - rows) * (1 + mergeShare);
    const { bavail, bsize } = await statfs(lab.directory);
    const perRowMs = (performance.now() - began) / (rows - from);
    process.stderr.write(
      `${to} events: about ${minutes(perRowMs * (to - rows) * 2)} minutes and ${(bytes / gibibyte).toFixed(1)} GiB of disk\n`,
    );
    // A remote server has its own disk.
    if (lab.engine.access.pid !== undefined && bytes > bavail * bsize)
      throw new UserError(
        `the disk of ${lab.directory} has ${((bavail * bsize) / gibibyte).toFixed(1)} GiB left`,
      );
  }

  return {
    async inserted(rows) {
      if (!checked && rows < to) await check(rows);
      if (performance.now() - reportedMs < reportEveryMs && rows < to) return;
      reportedMs = performance.now();
      process.stderr.write(`  ${rows} of ${to} events, ${minutes(reportedMs - began)} minutes\n`);
    },
    merging: (partition) => void process.stderr.write(`  merging partition ${partition}\n`),
    mutating: (parts) =>
      void process.stderr.write(`  adding columns of a newer migration: ${parts} parts left\n`),
    done: () => void process.stderr.write(`  ready after ${minutes(performance.now() - began)} minutes\n`),
  };
}
