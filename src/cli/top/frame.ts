import { limits } from '../limits.ts';
import { table } from '../output.ts';
import type { Figures } from './figures.ts';

/** Where a frame is drawn. */
export interface FrameSpace {
  readonly columns: number;
  readonly rows: number;
  readonly isColoured: boolean;
}

const none = '-';

/** The lines of one frame, none wider or more than there is room for. `trouble`: why there is nothing newer. */
export function frameOf(
  figures: Figures | undefined,
  url: string,
  space: FrameSpace,
  trouble?: string,
): string[] {
  const clock = figures === undefined ? '' : ` ${figures.at.slice(11, 19)} UTC`;
  const lines = [strong(`auditlog top  ${url}${clock}`, space)];
  if (trouble !== undefined) lines.push(alarming(trouble, space));
  if (figures !== undefined) lines.push('', ...body(figures, space));
  return lines.slice(0, space.rows).map((line) => cut(line, space.columns));
}

function body(figures: Figures, space: FrameSpace): string[] {
  const { log, reads, engine } = figures;
  const isLate = (log.lag_seconds ?? 0) > limits.topLagSecondsMax;
  const rejected = `${rate(figures.rejected_per_second)} rejected`;
  return [
    `events    ${rate(figures.accepted_per_second)} accepted, ${figures.rejected > 0 ? alarming(rejected, space) : rejected}`,
    `written   p50 ${time(figures.acknowledgement.p50_seconds)}, p99 ${time(figures.acknowledgement.p99_seconds)}`,
    `queried   p50 ${time(figures.query.p50_seconds)}, p99 ${time(figures.query.p99_seconds)}`,
    `log       ${bytes(log.bytes)}, ${count(log.segments)} segments wait, ${mark(`oldest event ${time(log.lag_seconds)}`, isLate, space)}`,
    `reads     ${count(reads.running)} at work, ${mark(`${count(reads.waiting)} waiting`, (reads.waiting ?? 0) > 0, space)}`,
    `engine    ${bytes(engine.memory_bytes)} of memory, ${count(engine.parts)} parts at most in a partition`,
    '',
    strong(`busiest organizations, last ${limits.topOrganizationsSeconds} s`, space),
    ...listed(figures.organizations, (all) =>
      table(all, [
        ['events/s', (one) => one.events_per_second.toFixed(1)],
        ['organization', (one) => one.slug],
      ]),
    ),
    '',
    strong(`queries at work for more than ${limits.topSlowQuerySeconds} s`, space),
    ...listed(figures.slow_queries, (all) =>
      table(all, [
        ['seconds', (one) => one.seconds.toFixed(1)],
        ['memory', (one) => bytes(one.memory_bytes)],
        ['query', (one) => plain(one.query)],
      ]),
    ),
  ];
}

function listed<T>(all: readonly T[] | null, text: (all: readonly T[]) => string): string[] {
  if (all === null) return ['the engine does not tell'];
  return all.length === 0 ? ['none'] : text(all).split('\n');
}

const rate = (perSecond: number): string =>
  `${perSecond >= 100 ? Math.round(perSecond) : perSecond.toFixed(1)}/s`;
const count = (value: number | null): string => (value === null ? none : String(value));

function time(seconds: number | null): string {
  if (seconds === null) return none;
  return seconds < 1 ? `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms` : `${seconds.toFixed(1)} s`;
}

function bytes(value: number | null): string {
  if (value === null) return none;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [amount, unit] = [value, 0];
  for (; amount >= 1024 && unit < units.length - 1; unit += 1) amount /= 1024;
  return `${unit === 0 ? amount : amount.toFixed(1)} ${units[unit]}`;
}

const coloured = (text: string, code: string, { isColoured }: FrameSpace): string =>
  isColoured ? `\u001b[${code}m${text}\u001b[0m` : text;
const strong = (text: string, space: FrameSpace): string => coloured(text, '1', space);
const alarming = (text: string, space: FrameSpace): string => coloured(text, '31', space);
const mark = (text: string, isAlarming: boolean, space: FrameSpace): string =>
  isAlarming ? alarming(text, space) : text;

/** Of others: what could move the cursor, or end a line, is a space. */
const plain = (text: string): string => text.replaceAll(/\p{Cc}/gu, ' ');

/** At a width; sequences of colours take none, and what ends one is kept. */
function cut(line: string, columns: number): string {
  let [text, width] = ['', 0];
  for (const [piece] of line.matchAll(/\p{Cc}\[\d+m|./gu)) {
    const isSequence = piece.length > 2;
    if (!isSequence && width === columns) continue;
    text += piece;
    if (!isSequence) width += 1;
  }
  return text;
}
