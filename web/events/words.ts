import { fromRfc3339 } from '../api/instant.ts';
import { formatInstant, formatSpan } from '../ui/format.ts';
import { isTextKey, language, t } from '../ui/text.ts';
import type { EventList } from './event-list.ts';
import { type Filter, type FilterName, type Filters, parameterOf } from './filters.ts';
import { model } from './model.ts';
import type { EventQuery } from './query.ts';

/** The words before a filter's values: `actor is`. */
export function filterWords({ name, isNot }: Pick<Filter, 'name' | 'isNot'>): string {
  const title = t(name);
  if (name === 'q') return isNot ? t('eventsContainsNot') : title;
  // German nouns have a capital anywhere.
  const word = language.value === 'en' ? title.toLowerCase() : title;
  return t(isNot ? 'eventsIsNot' : 'eventsIs', { name: word });
}

export function valueWords(name: FilterName, value: string): string {
  if (value === '') return t('eventsAbsent');
  if (name === 'activity') return model.known.value.activities.get(value) ?? value;
  const key = `${name}_${value}`;
  return isTextKey(key) ? t(key) : value;
}

/** A filter with its values: `actor is zoe@acme.example`. */
export function filterSentence(filter: Filter): string {
  const values = filter.values.map((value) => valueWords(filter.name, value));
  return `${filterWords(filter)} ${values.join(', ')}`;
}

export function rangeWords(range: EventQuery['range']): string {
  if (typeof range === 'string') return t(`range_${range}`);
  const { from, to } = range;
  if (from !== undefined && to !== undefined) return formatSpan(from, to);
  if (from !== undefined) return t('eventsFrom', { time: formatInstant(from) });
  return t('eventsUntil', { time: formatInstant(to ?? 0) });
}

export function appliedFilters(list: EventList | undefined): Filters {
  return model.query.value.filters.filter((one) => list?.ignored.includes(parameterOf(one)) !== true);
}

/** The list's range, as far as words were searched, and its filters. */
export function querySentence(list: EventList): string {
  const { startTime, endTime } = list.parameters;
  const [from, to] = [startTime, endTime].map((time) => fromRfc3339(String(time)));
  const range = list.searchedBackTo === undefined ? model.query.value.range : { from, to };
  return [rangeWords(range), ...appliedFilters(list).map(filterSentence)].join(' · ');
}

/** The number in words; `isPart` if not all was searched. */
export function totalWords(total: number, isPart = false): string {
  const words = t('eventsTotal', { n: total });
  return isPart ? t('eventsTotalPart', { total: words }) : words;
}
