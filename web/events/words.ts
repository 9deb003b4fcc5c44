import { formatNumber } from '../ui/format.ts';
import { isTextKey, language, t } from '../ui/text.ts';
import type { Filter, FilterName } from './filters.ts';
import { model } from './model.ts';

/** What a filter says of events, before its values: `actor is`. */
export function filterWords({ name, isNot }: Pick<Filter, 'name' | 'isNot'>): string {
  const title = t(name);
  if (name === 'q') return title;
  // In German, words of this kind have a capital anywhere.
  const word = language.value === 'en' ? title.toLowerCase() : title;
  return t(isNot ? 'eventsIsNot' : 'eventsIs', { name: word });
}

/** The value of a filter as people read it. */
export function valueWords(name: FilterName, value: string): string {
  if (name === 'activity') return model.known.value.activities.get(value) ?? value;
  const key = `${name}_${value}`;
  return isTextKey(key) ? t(key) : value;
}

/** A filter with its values: `actor is zoe@acme.example`. */
export function filterSentence(filter: Filter): string {
  const values = filter.values.map((value) => valueWords(filter.name, value));
  return `${filterWords(filter)} ${values.join(', ')}`;
}

/** How many there are, in words; `isPart` where not all has been looked through. */
export function totalWords(total: number, isPart = false): string {
  const words = t('eventsTotal', { n: formatNumber(total) });
  return isPart ? t('eventsTotalPart', { total: words }) : words;
}
