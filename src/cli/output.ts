import { variablesHelp } from '../config/variables.ts';
import type { Answer, CommandSchemaName } from '../contract/document.ts';
import { stringifyOutput } from '../contract/stringify.ts';
import { limits } from '../tools/limits.ts';
import type { JsonOption, Output } from '../tools/output.ts';

export function variablesText(): string {
  const indent = ' '.repeat(23);
  const lines = variablesHelp().split('\n');
  const column = new RegExp(`(.{1,${limits.helpColumnsMax - indent.length}})(?: |$)`, 'g');
  const wrapped = lines.map((line) =>
    line.length <= limits.helpColumnsMax
      ? line
      : line.slice(0, indent.length) +
        (line.slice(indent.length).match(column) ?? []).map((part) => part.trimEnd()).join(`\n${indent}`),
  );
  return `${wrapped.join('\n')}\n`;
}

/** East Asian scripts and emoji take two columns in a terminal. */
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\u{1F300}-\u{1FAFF}]/u;

function countColumns(text: string): number {
  let columns = 0;
  for (const character of text) columns += wide.test(character) ? 2 : 1;
  return columns;
}

export type Column<T> = readonly [heading: string, cell: (one: T) => string];

/** Rows with a heading; a column is as wide as its widest cell. */
export function table<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  const heading = columns.map(([title]) => title.toUpperCase());
  const lines = [heading, ...rows.map((row) => columns.map(([, cell]) => cell(row)))];
  const widths = columns.map((_, column) =>
    Math.max(...lines.map((cells) => countColumns(cells[column] ?? ''))),
  );
  const padded = (cell: string, column: number): string =>
    cell + ' '.repeat((widths[column] ?? 0) - countColumns(cell));
  return lines.map((cells) => cells.map(padded).join('  ').trimEnd()).join('\n');
}

/** One line of JSON, of a schema in schema/commands.yaml. */
export function printJson<Name extends CommandSchemaName>(
  deps: Output,
  schema: Name,
  value: Answer<Name>,
): void {
  deps.io.out(`${stringifyOutput(schema, value)}\n`);
}

export function print<Name extends CommandSchemaName>(
  deps: Output,
  options: JsonOption,
  schema: Name,
  value: Answer<Name>,
  text: string,
): void {
  if (options.json === true) printJson(deps, schema, value);
  else deps.io.out(`${text}\n`);
}

/** RFC 3339 with milliseconds. */
export const timeText = (micros: number): string => new Date(Math.floor(micros / 1000)).toISOString();

export function timeTextOrNull(micros: number | undefined): string | null {
  return micros === undefined ? null : timeText(micros);
}
