import type { CliIo } from './context.ts';

const progressIntervalMs = 250;

export interface Progress {
  /** Progress in units of `total`; `items` are for the rate. */
  at(done: number, items: number): void;
  end(): void;
}

export type ProgressIo = Pick<CliIo, 'error' | 'errorIsTerminal'>;

const silent: Progress = { at: () => {}, end: () => {} };
const barCells = 24;

function clockText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}

/**
 * A bar on standard error, if that is a terminal, with rate and remaining time. `doneBefore` (by an earlier
 * run) does not count for the rate.
 */
export function createProgress(
  io: ProgressIo,
  what: { readonly items: string; readonly total: number | undefined; readonly doneBefore?: number },
): Progress {
  if (io.errorIsTerminal !== true) return silent;
  const { items: unit, total, doneBefore = 0 } = what;
  const begun = performance.now();
  let drawn = 0;
  return {
    at(done, items) {
      const now = performance.now();
      if (now - drawn < progressIntervalMs) return;
      drawn = now;
      const seconds = (now - begun) / 1000;
      const rate = `${items} ${unit}, ${Math.round(items / Math.max(seconds, 0.001))}/s`;
      if (total === undefined || total === 0) {
        io.error(`\r\u001b[K${rate}`);
        return;
      }
      const share = Math.min(1, done / total);
      const bar = '#'.repeat(Math.round(share * barCells)).padEnd(barCells, '.');
      const pace = (done - doneBefore) / seconds;
      const left = pace > 0 ? `, ${clockText((total - done) / pace)} left` : '';
      io.error(`\r\u001b[K[${bar}] ${(share * 100).toFixed(1)}% ${rate}${left}`);
    },
    end() {
      if (drawn > 0) io.error('\r\u001b[K');
    },
  };
}
