import type { Answer, SchemaName } from '../contract/document.ts';
import { stringify } from '../contract/stringify.ts';
import type { CliDeps } from './context.ts';

type Output = Pick<CliDeps, 'io'>;

/** Wide in a terminal: East Asian scripts and emoji take two columns. */
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\u{1F300}-\u{1FAFF}]/u;

function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += wide.test(character) ? 2 : 1;
  return columns;
}

/** Rows under a heading, every column as wide as its widest cell. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heading.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => columnsOf(row[column] ?? ''))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - columnsOf(cell)))
      .join('  ')
      .trimEnd();
  return [line(heading.map((title) => title.toUpperCase())), ...rows.map(line)].join('\n');
}

/** One line of JSON for programs, of a schema in the OpenAPI document (`x-commands`). */
export function printJson<Name extends SchemaName>(deps: Output, schema: Name, value: Answer<Name>): void {
  deps.io.out(`${stringify(schema, value)}\n`);
}

/** As `printJson` where the command was called with `--json`, else the text for people. */
export function print<Name extends SchemaName>(
  deps: Output,
  options: { readonly json?: true },
  schema: Name,
  value: Answer<Name>,
  text: string,
): void {
  if (options.json === true) printJson(deps, schema, value);
  else deps.io.out(`${text}\n`);
}

/** RFC 3339 with milliseconds. */
export function timeText(micros: number): string {
  return new Date(Math.floor(micros / 1000)).toISOString();
}

export function timeTextOrNull(micros: number | undefined): string | null {
  return micros === undefined ? null : timeText(micros);
}
