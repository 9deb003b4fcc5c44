import { type Command, Option } from 'commander';
import { formatDurationMs, parseDurationMs } from '../base/time/units.ts';
import {
  filterNames,
  type FilterName,
  filterOf,
  listValues,
  listValuesMax,
  listWays,
  optionalFilterNames,
  presences,
  readPresence,
  searchTexts,
  searchWords,
  searchWordCharactersMax,
  searchWordsMax,
} from '../base/events/event-filters.ts';
import { Problem } from '../base/errors/problem.ts';
import { errorCode, fileErrorWords } from '../base/errors/system-error.ts';
import { parseRfc3339Micros } from '../base/time/timestamp.ts';
import { baseUrl } from '../client/transport.ts';

/**
 * Parses an option's text; `name` is for the error. `before` is the previous value of a repeatable option.
 * Throws Problem `malformed`.
 */
export interface ReadOption<T> {
  (text: string, name: string, before: unknown): T;
  /** All allowed values, if they are few; a shell completes them. */
  readonly values?: readonly string[] | undefined;
}

export type OptionRow = readonly [
  flags: string,
  meaning: string,
  read?: ReadOption<unknown>,
  fallback?: string,
];

export function option(...[flags, meaning, read, fallback]: OptionRow): Option {
  const made = new Option(flags, meaning);
  if (read === undefined) return made;
  const name = made.long ?? flags;
  const { values } = read;
  made.argParser(Object.assign((text: string, before: unknown) => read(text, name, before), { values }));
  return fallback === undefined
    ? made
    : made.default(read(fallback, name, undefined), JSON.stringify(fallback));
}

/** Values for shell completion: from its parser, or from a placeholder such as `<on|off>`. */
export function valuesOf({ flags, parseArg }: Option): readonly string[] {
  const known = (parseArg as { readonly values?: readonly string[] } | undefined)?.values;
  if (known !== undefined) return known;
  const [, listed = ''] = /<([\w-]+(?:\|[\w-]+)+)>/.exec(flags) ?? [];
  return listed === '' ? [] : listed.split('|');
}

export function addRows(command: Command, rows: readonly OptionRow[]): void {
  for (const row of rows) command.addOption(option(...row));
}

export function wrong(name: string, allowed: string): Problem {
  return new Problem('malformed', `${name}: ${allowed}`);
}

/** An unreadable file on the command line is wrong usage: nothing was done. */
export function unreadable(name: string, path: string, error: unknown): Problem {
  return wrong(
    name,
    fileErrorWords(error) ?? `${path} cannot be read (${errorCode(error) ?? 'unknown reason'})`,
  );
}

const yearMs = 365 * 86_400_000;

export function durationMs(minMs: number, maxMs = yearMs): ReadOption<number> {
  const allowed = `a duration such as 90s, from ${formatDurationMs(minMs)} to ${formatDurationMs(maxMs)}`;
  return (text, name) => {
    const ms = parseDurationMs(text) ?? -1;
    if (ms < minMs || ms > maxMs) throw wrong(name, allowed);
    return ms;
  };
}

export function integer(min: number, max: number): ReadOption<number> {
  return (text, name) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : -1;
    if (value < min || value > max) throw wrong(name, `a whole number from ${min} to ${max}`);
    return value;
  };
}

export const eventCount = integer(0, 999_999_999_999_999);

export function oneOf<T extends string>(names: readonly T[]): ReadOption<T> {
  const read = (text: string, name: string): T => {
    const choice = names.find((one) => one === text);
    if (choice === undefined) throw wrong(name, names.join(', '));
    return choice;
  };
  return Object.assign(read, { values: names });
}

export function httpAddress(text: string, name: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw wrong(name, 'an http(s) address');
  if (url.username !== '' || url.password !== '')
    throw wrong(name, 'no credentials, because addresses are visible to others; use a header');
  return url;
}

/** Address of a service, with a trailing slash. */
export function serviceAddress(text: string, name: string): string {
  return baseUrl(httpAddress(text, name).href).href;
}

/** Refuses values that endpoints would ignore, because they would then return everything. */
function checkedBy(
  read: (text: string) => unknown,
  allowed: string,
  values?: readonly string[],
): ReadOption<string> {
  const checked = (text: string, name: string): string => {
    if (text !== '' && read(text) === undefined) throw wrong(name, allowed);
    return text;
  };
  return Object.assign(checked, { values });
}

const instant = checkedBy(
  parseRfc3339Micros,
  'an RFC 3339 time with an offset, such as 2026-05-04T00:00:00Z',
);

const textList = checkedBy(
  searchTexts,
  `at most ${searchWordsMax} texts of ${searchWordCharactersMax} characters, separated by commas`,
);

function filterRows(name: FilterName): [string, OptionRow][] {
  const { match, option: of } = filterOf(name);
  const meanings = { in: 'one of these', not: 'none of these' };
  return [
    [name, [`--${of.flag} <${of.value}>`, of.meaning, checkedBy(match.read, match.allowed, match.values)]],
    ...listWays.map((way): [string, OptionRow] => [
      `${name}.${way}`,
      [
        `--${of.flag}-${way} <list>`,
        `${of.meaning}: ${meanings[way]}`,
        checkedBy(
          (list) => listValues(list, match.read),
          `at most ${listValuesMax} values separated by commas, each ${match.allowed}`,
          match.values,
        ),
      ],
    ]),
    ...(optionalFilterNames.includes(name)
      ? [presenceRow(name, [`--${of.flag}-is <presence>`, `${of.meaning}: present or absent`])]
      : []),
  ];
}

function presenceRow(name: FilterName, [flags, meaning]: readonly [string, string]): [string, OptionRow] {
  return [`${name}.is`, [flags, meaning, checkedBy(readPresence, presences.join(', '), presences)]];
}

/** Filters of the read endpoints (contract: Read). */
const filterOptions: ReadonlyMap<string, OptionRow> = new Map([
  ['startTime', ['--start-time <time>', 'events at or after this instant, RFC 3339 with an offset', instant]],
  ['endTime', ['--end-time <time>', 'events at or before this instant', instant]],
  ...filterNames.flatMap(filterRows),
  [
    'q',
    [
      '--q <words>',
      'words that the event contains',
      checkedBy(searchWords, `at most ${searchWordsMax} words of ${searchWordCharactersMax} characters`),
    ],
  ],
  ['q.phrase', ['--q-phrase <list>', 'exact texts that the event contains, spaces included', textList]],
  ['q.not', ['--q-not <list>', 'texts that the event does not contain', textList]],
]);

const listNote = `
Each filter on a value has two more: --NAME-in and --NAME-not with up to ${listValuesMax} values, separated by
commas, for events that have one of them, or none. In a value a comma is %2C and a percent sign %25.
--NAME-is none selects events that have no value, and any the others. NAME is one of
${optionalFilterNames.map((name) => filterOf(name).option.flag).join(', ')}.`;

/** The names of request parameters work as well. */
export function addFilters(
  command: Command,
  { except = [] }: { readonly except?: readonly string[] } = {},
): void {
  for (const [name, row] of filterOptions) {
    if (except.includes(name)) continue;
    const isList = [...listWays, 'is'].some((way) => name.endsWith(`.${way}`)) && !name.startsWith('q.');
    command.addOption(option(...row).hideHelp(isList));
    const [flags, meaning, read] = row;
    if (!flags.startsWith(`--${name} `))
      command.addOption(option(`--${name} <value>`, meaning, read).hideHelp());
  }
  command.addHelpText('after', listNote);
}

export type Filters = Readonly<Record<string, string>>;

export function readFilters(options: object): Filters {
  const values = options as Readonly<Record<string, string | undefined>>;
  const given = Array.from(filterOptions.keys(), (name): [string, string] => {
    const dashed = name.replace(/\.(\w)/, (_, first: string) => first.toUpperCase());
    return [name, values[name] ?? values[dashed] ?? ''];
  });
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}
