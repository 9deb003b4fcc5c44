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

/**
 * Events have one of the values, or with `isNot` none of them; of words and phrases they have all. The empty value stands
 * alone: for events without any value.
 */
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
  const added = name === 'q' ? typedTexts(value) : [value];
  const former = way === 'only' || value === '' ? [] : find(filters, name, isNot).filter(Boolean);
  const values = [...new Set([...former, ...added])];
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
  if (values[0] === '') return `${name}.is`;
  return isNot ? `${name}.not` : values.length > 1 && name !== 'q' ? `${name}.in` : name;
}

/** The filters as parameters, in the address as in requests. */
export function parametersOf(filters: Filters): Record<string, string> {
  return Object.fromEntries(
    filters.flatMap((filter) => {
      const { name, isNot, values } = filter;
      if (name === 'q' && !isNot) {
        const [words, phrases] = [values.filter((one) => !isPhrase(one)), values.filter(isPhrase)];
        return [['q', words.join(' ')] as const, ['q.phrase', listText(phrases)] as const].filter(
          ([, text]) => text !== '',
        );
      }
      const parameter = parameterOf(filter);
      if (parameter === `${name}.is`) return [[parameter, isNot ? 'any' : 'none'] as const];
      return [[parameter, parameter === name ? values.join() : listText(values)] as const];
    }),
  );
}

const isPhrase = (text: string): boolean => /\s/.test(text);
const listText = (values: readonly string[]): string =>
  values.map((value) => value.replaceAll(/[%,]/g, encodeURIComponent)).join();

/** The filters that an address has; what it does not know is left out. */
export function readFilters(parameters: URLSearchParams): Filters {
  const text = (name: string) => parameters.get(name) ?? '';
  return filterNames.flatMap((name): Filter[] => {
    const presence = text(`${name}.is`);
    const given = text(name) === '' ? listOf(text(`${name}.in`)) : [text(name)];
    const is = name === 'q' ? [...wordsOf(text(name)), ...listOf(text('q.phrase'))] : given;
    return [
      { name, isNot: false, values: presence === 'none' ? [''] : is },
      { name, isNot: true, values: presence === 'any' ? [''] : listOf(text(`${name}.not`)) },
    ].filter(isSome);
  });
}

/** As they are written: the server finds them in any case, and not every letter is the same one in small. */
const wordsOf = (text: string): string[] => [...new Set(text.split(/\s+/).filter(Boolean))];

/** Words as they are typed; what stands between quotation marks is one, with its spaces. */
const typedTexts = (text: string): string[] =>
  (text.match(/"[^"]+"|\S+/g) ?? []).map((one) => one.replace(/^"([^"]+)"$/, '$1'));

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
