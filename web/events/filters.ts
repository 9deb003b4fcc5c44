import { foldCase } from '../../src/base/events/fold-case.ts';

/** Filters of the server, by its names; `q` are words that all stand in an event. */
export const filterNames = [
  'status',
  'severity',
  'activity',
  'actor',
  'userId',
  'ip',
  'fileName',
  'fileHash',
  'flowId',
  'q',
] as const;
export type FilterName = (typeof filterNames)[number];

/** Events have one of the values, or with `isNot` none of them; of words they have all. */
export interface Filter {
  readonly name: FilterName;
  readonly isNot: boolean;
  readonly values: readonly string[];
}

/** One for each name, and one more for what is excluded by it. */
export type Filters = readonly Filter[];

/** What a click does with a value: nothing else of its kind, as well as the others, or everything but it. */
export type FilterWay = 'only' | 'also' | 'not';

/** What the server takes of one filter. */
const valuesMax = { q: 10, others: 20 };

const find = (filters: Filters, name: FilterName, isNot: boolean): readonly string[] =>
  filters.find((one) => one.name === name && one.isNot === isNot)?.values ?? [];

/** Whether the server takes two values of a filter for the same one. */
export const isSameValue = (one: string, other: string): boolean => foldCase(one) === foldCase(other);

export function hasValue(filters: Filters, name: FilterName, value: string, isNot = false): boolean {
  return find(filters, name, isNot).some((one) => isSameValue(one, value));
}

/** The filters with a value more. Undefined where the server takes no more values. */
export function withValue(
  filters: Filters,
  name: FilterName,
  value: string,
  way: FilterWay,
): Filters | undefined {
  const isNot = way === 'not';
  const added = name === 'q' ? wordsOf(value) : [value];
  const values = [...new Set([...(way === 'only' ? [] : find(filters, name, isNot)), ...added])];
  if (values.length > (name === 'q' ? valuesMax.q : valuesMax.others)) return undefined;
  const others = added.reduce((rest, one) => withoutValue(rest, name, one, !isNot), filters);
  return ordered([
    ...others.filter((one) => one.name !== name || (one.isNot !== isNot && way !== 'only')),
    { name, isNot, values },
  ]);
}

/** The filters without a value of one of them, or without all that are equal to `undefined`. */
export function withoutValue(
  filters: Filters,
  name: FilterName,
  value: string | undefined,
  isNot: boolean,
): Filters {
  return filters.flatMap((one) => {
    if (one.name !== name || one.isNot !== isNot) return [one];
    const values = one.values.filter((other) => value !== undefined && !isSameValue(other, value));
    return values.length === 0 ? [] : [{ ...one, values }];
  });
}

function ordered(filters: Filters): Filters {
  return filterNames.flatMap((name) =>
    [false, true].flatMap((isNot) => filters.filter((one) => one.name === name && one.isNot === isNot)),
  );
}

/** The name of the parameter, in the address as in requests. */
export function parameterOf({ name, isNot, values }: Filter): string {
  return isNot ? `${name}.not` : values.length > 1 && name !== 'q' ? `${name}.in` : name;
}

/** The filters as parameters, in the address as in requests. */
export function parametersOf(filters: Filters): Record<string, string> {
  return Object.fromEntries(
    filters.map((filter) => {
      const parameter = parameterOf(filter);
      const isList = parameter !== filter.name;
      const values = isList
        ? filter.values.map((value) => value.replaceAll(/[%,]/g, encodeURIComponent))
        : filter.values;
      return [parameter, values.join(isList ? ',' : ' ')];
    }),
  );
}

/** The filters that an address has; what it does not know is left out. */
export function readFilters(parameters: URLSearchParams): Filters {
  const text = (name: string) => parameters.get(name) ?? '';
  return filterNames.flatMap((name): Filter[] => {
    if (name === 'q') return [{ name, isNot: false, values: wordsOf(text(name)) }].filter(isSome);
    const is = text(name) === '' ? listOf(text(`${name}.in`)) : [text(name)];
    return [
      { name, isNot: false, values: is },
      { name, isNot: true, values: listOf(text(`${name}.not`)) },
    ].filter(isSome);
  });
}

/** As they are written: the server finds them in any case, and not every letter is the same one in small. */
const wordsOf = (text: string): string[] => [...new Set(text.split(/\s+/).filter(Boolean))];

const isSome = ({ values }: Filter): boolean => values.length > 0;

function listOf(list: string): string[] {
  return list
    .split(',')
    .filter((one) => one !== '')
    .map((one) => {
      try {
        return decodeURIComponent(one);
      } catch {
        return one;
      }
    });
}
