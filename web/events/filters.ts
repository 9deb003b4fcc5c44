import { foldCase } from '../../src/base/events/fold-case.ts';

/** Filters by the server's names; all words of `q` must occur in an event. */
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

/** Matches one of the values, of words all; `isNot`: none. The empty value stands alone: no value at all. */
export interface Filter {
  readonly name: FilterName;
  readonly isNot: boolean;
  readonly values: readonly string[];
}

/** At most one filter for each name, and one that excludes. */
export type Filters = readonly Filter[];

/** A click on a value replaces the others, adds it, or excludes it. */
export type FilterWay = 'only' | 'also' | 'not';

const valuesMax = { q: 10, others: 20 };

const find = (filters: Filters, name: FilterName, isNot: boolean): readonly string[] =>
  filters.find((one) => one.name === name && one.isNot === isNot)?.values ?? [];

export const isSameValue = (one: string, other: string): boolean => foldCase(one) === foldCase(other);

export function hasValue(filters: Filters, name: FilterName, value: string, isNot = false): boolean {
  return find(filters, name, isNot).some((one) => isSameValue(one, value));
}

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

/** Reads filters from an address; unknown ones are left out. */
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

/** Keeps the case: the server ignores it, and lower case is not reversible for all letters. */
const wordsOf = (text: string): string[] => [...new Set(text.split(/\s+/).filter(Boolean))];

/** Typed words; a text in quotation marks is one word, spaces included. */
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
