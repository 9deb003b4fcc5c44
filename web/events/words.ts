import type { AuditEvent } from '../api/types.ts';
import { formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import type { FilterName } from './query.ts';

export function statusName(status: AuditEvent['status']): string {
  return t(status === 'Failure' ? 'failure' : 'success');
}

const severities = { Informational: 'informational', Medium: 'medium', High: 'high' } as const;

export function severityName(severity: AuditEvent['severity']): string {
  return t(severities[severity]);
}

const chips = {
  actor: 'eventsChipActor',
  userId: 'eventsChipUserId',
  fileName: 'eventsChipFileName',
  fileHash: 'eventsChipFileHash',
  flowId: 'eventsChipFlowId',
  activity: 'eventsChipActivityId',
  severity: 'eventsChipSeverity',
  status: 'eventsChipStatus',
} as const;

/** What a filter says of events, before its value: `actor is`. */
export function filterWords(name: FilterName): string {
  return t(chips[name]);
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

/** What an event was about, where it names a file, and what it says. */
export function targetOf({ message, extra_map: extra }: AuditEvent): { target?: string; message: string } {
  const file = extra?.['fileName'];
  return typeof file === 'string' && file !== '' ? { target: file, message } : { message };
}

/** How many there are, in words. */
export function totalWords(total: number): string {
  return t(total === 1 ? 'eventsTotalOne' : 'eventsTotal', { n: formatNumber(total) });
}
