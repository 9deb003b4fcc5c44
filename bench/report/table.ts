import { quantilesMs } from '../stats/histogram.ts';
import type { CaseResult, RunResult } from '../stats/result.ts';
import type { Summary } from '../stats/summary.ts';

/** A number with three significant digits and separated thousands. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function megabytes(bytes: number): string {
  return bytes >= 1e6 ? `${Math.round(bytes / 1e6)} MB` : `${Math.round(bytes)} B`;
}

/** Half of the interval, in percent of the median. */
function halfPercent({ median, low, high }: Summary): number {
  return Math.round((Math.max(high - median, median - low) / median) * 100);
}

const orEmpty = (value: number | undefined): string => (value === undefined ? '' : short(value));

/** The cells of a case, as `columns` names them. */
function row({ id, title, service, reference, ratio, growth }: CaseResult): string[] {
  const { rate, latency, serviceMicros, engineMicros } = service;
  const [p50, p99] = latency === undefined ? [] : quantilesMs(latency, [0.5, 0.99]);
  return [
    id,
    title,
    short(rate.median),
    String(halfPercent(rate)),
    orEmpty(reference?.side.rate.median),
    ratio === undefined ? '' : `**${ratio.median.toFixed(2)}**`,
    ratio === undefined ? '' : `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)}`,
    orEmpty(p50),
    orEmpty(p99),
    orEmpty(serviceMicros),
    orEmpty(engineMicros),
    growth === undefined ? '' : growth.toFixed(2),
  ];
}

const columns = [
  'case',
  'what',
  'a second',
  '± %',
  'reference',
  'ratio',
  '95 %',
  'p50 ms',
  'p99 ms',
  'service µs',
  'engine µs',
  'ten times the rows',
];

/** Without the columns that are empty in every row. */
function markdown(rows: readonly (readonly string[])[]): string {
  const isFilled = columns.map((_, at) => rows.some((cells) => (cells[at] ?? '') !== ''));
  const line = (cells: readonly string[]): string => `|${cells.filter((_, at) => isFilled[at]).join('|')}|`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A run in bench/results.json: cells of each case by name, and notes, without samples. */
export interface KeptRun extends Pick<RunResult, 'commit' | 'startedAt' | 'machine' | 'skipped'> {
  readonly rows: Readonly<Record<string, readonly string[]>>;
  readonly notes: Readonly<Record<string, readonly string[]>>;
}

export function keptRun(run: RunResult): KeptRun {
  const { commit, startedAt, machine, skipped } = run;
  const rows = run.cases.map((result): [string, string[]] => {
    const [id = '', ...cells] = row(result);
    return [id, cells];
  });
  return { commit, startedAt, machine, rows: Object.fromEntries(rows), notes: resultNotes(run), skipped };
}

/** Kept runs with a newer one, newest first. A newly measured case is removed from older runs. */
export function withRun(older: readonly KeptRun[], run: KeptRun): KeptRun[] {
  const without = <T>(of: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(of).filter(([id]) => !(id in run.rows)));
  const left = older.map((old) => ({ ...old, rows: without(old.rows), notes: without(old.notes) }));
  return [run, ...left.filter(({ rows }) => Object.keys(rows).length > 0)];
}

/** The results as a Markdown table, below a line with commit, date and machine. */
export function resultTable({ commit, startedAt, machine, rows }: KeptRun): string {
  const origin =
    `Commit ${commit}, ${startedAt.slice(0, 10)}, ${machine.cores} cores (${machine.cpu}), ` +
    `${machine.memoryGigabytes} GB, Node ${machine.node}, ${machine.system}.`;
  const lines = Object.entries(rows).map(([id, cells]) => [id, ...cells]);
  return [origin, '', markdown(lines), ''].join('\n');
}

/** The table of a kept run in bench/README.md: every case, without its description, which results.json has. */
export function readmeTable(run: KeptRun): string {
  const rows = Object.entries(run.rows).map(([id, [, ...figures]]): [string, string[]] => [
    id,
    ['', ...figures],
  ]);
  return resultTable({ ...run, rows: Object.fromEntries(rows) });
}

/** Further figures of the cases, by name. */
function resultNotes(run: RunResult): Record<string, string[]> {
  const notes = run.cases.map(({ id, notes, bytes = {} }): [string, string[]] => {
    const sizes = Object.entries(bytes).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name} ${megabytes(value)}`],
    );
    return [id, [...notes, ...(sizes.length === 0 ? [] : [sizes.join(', ')])]];
  });
  return Object.fromEntries(notes.filter(([, texts]) => texts.length > 0));
}

/** The notes and skipped cases of a run, as a list. */
export function notesList(run: RunResult): string {
  const lines = Object.entries(resultNotes(run)).flatMap(([id, texts]) =>
    texts.map((text) => `- \`${id}\` ${text}\n`),
  );
  return [...lines, ...run.skipped.map((why) => `- left out: ${why}\n`)].join('');
}

/** One line while a run goes on. */
export function progressLine(result: CaseResult): string {
  const { id, title, unit, service, ratio, notes } = result;
  const beside = ratio === undefined ? '' : `  ${ratio.median.toFixed(2)} of the reference`;
  return `${id.padEnd(22)} ${short(service.rate.median).padStart(12)} ${unit}/s ±${halfPercent(service.rate)} %${beside}  ${title}\n${notes.map((note) => `${' '.repeat(23)}${note}\n`).join('')}`;
}
