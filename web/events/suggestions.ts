import { foldCase } from '../../src/base/events/fold-case.ts';
import { isAddress, rangeOf } from './addresses.ts';
import { type FilterName, isSameValue } from './filters.ts';
import { limits } from './limits.ts';
import type { Known } from './model.ts';
import { valueWords } from './words.ts';

export interface Suggestion {
  readonly name: FilterName;
  readonly value: string;
  readonly words: string;
  readonly isNot: boolean;
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const hash = /^[0-9a-f]{16,128}$/i;
/** Likeliest first. The server compares whole values, so parts of names are matched with frequent values. */
export function suggest(text: string, { actors: names, activities: titles }: Known): Suggestion[] {
  const isNot = text.trim().startsWith('-');
  const typed = text.trim().slice(isNot ? 1 : 0);
  if (typed === '') return [];
  const one = (name: FilterName, value: string, words = value): Suggestion => ({ name, value, words, isNot });
  const isIn = (...texts: (string | undefined)[]) =>
    texts.some((other) => other !== undefined && foldCase(other).includes(foldCase(typed)));
  const range = rangeOf(typed);
  const half = limits.suggestionsMax / 2;
  const actors = [...names]
    .filter((texts) => isIn(...texts))
    .map(([value, name]) => one('actor', value, name === undefined ? value : `${name} · ${value}`));
  const activities = [...titles]
    .filter(([, words]) => isIn(words))
    .map(([id, words]) => one('activity', id, words));
  const namesOf = (name: FilterName, values: readonly string[]) =>
    values
      .map((value) => one(name, value, valueWords(name, value)))
      .filter(({ value, words }) => isIn(value, words));
  const known = [
    ...(uuid.test(typed) ? [one('flowId', typed)] : []),
    ...(hash.test(typed) ? [one('fileHash', typed)] : []),
    ...(isAddress(typed) ? [one('ip', typed)] : []),
    ...(range === undefined ? [] : [one('ip', range)]),
    ...actors.slice(0, half),
    ...namesOf('status', ['Failure', 'Success']),
    ...activities.slice(0, half),
    ...namesOf('severity', ['High', 'Medium', 'Informational']),
  ];
  const asTyped = (['actor', 'fileName', 'userId', 'fileHash'] as const)
    .filter((name) => name !== 'actor' || typed.includes('@'))
    .filter((name) => !known.some((other) => other.name === name && isSameValue(other.value, typed)))
    .map((name) => one(name, typed));
  // Words cost the server most, so known values come first.
  const words = [one('q', typed)];
  return [...known.slice(0, limits.suggestionsMax - words.length), ...words, ...asTyped].slice(
    0,
    limits.suggestionsMax,
  );
}
