import type { AuditEvent } from '../api/types.ts';
import { formatNumber } from '../ui/number.ts';
import { language, t } from '../ui/text.ts';
import type { Filter, FilterName } from './filters.ts';

export function statusName(status: AuditEvent['status']): string {
  return t(status === 'Failure' ? 'failure' : 'success');
}

const severities = { Informational: 'informational', Medium: 'medium', High: 'high' } as const;

export function severityName(severity: AuditEvent['severity']): string {
  return t(severities[severity]);
}

/** What filters are by, as titles. */
export const filterTitles = {
  actor: 'actor',
  userId: 'eventsUserId',
  fileName: 'file',
  fileHash: 'eventsHash',
  ip: 'address',
  flowId: 'eventsDetailFlow',
  activity: 'activity',
  severity: 'severity',
  status: 'status',
  q: 'eventsChipWords',
} as const;

/** What a filter says of events, before its values: `actor is`. */
export function filterWords({ name, isNot }: Pick<Filter, 'name' | 'isNot'>): string {
  const title = t(filterTitles[name]);
  if (name === 'q') return title;
  // In German, words of this kind have a capital anywhere.
  const word = language.value === 'en' ? title.toLowerCase() : title;
  return t(isNot ? 'eventsIsNot' : 'eventsIs', { name: word });
}

/** The value of a filter as people read it. */
export function valueWords(
  name: FilterName,
  value: string,
  activityNames: ReadonlyMap<string, string>,
): string {
  if (name === 'activity') return activityNames.get(value) ?? value;
  if (name === 'status' && (value === 'Success' || value === 'Failure')) return statusName(value);
  if (name === 'severity' && value in severities) return severityName(value as AuditEvent['severity']);
  return value;
}

/** How many there are, in words; `isPart` where not all has been looked through. */
export function totalWords(total: number, isPart = false): string {
  const words = t(total === 1 ? 'eventsTotalOne' : 'eventsTotal', { n: formatNumber(total) });
  return isPart ? t('eventsTotalPart', { total: words }) : words;
}
