import { brokenAnswer, getText } from '../api/request.ts';
import type { AuditEvent } from '../api/types.ts';
import { membersOf } from '../ui/json-text.ts';
import { placeText } from './event-list.ts';

/** An event with its JSON texts, which keep every digit. */
export interface EventDetail {
  readonly event: AuditEvent;
  readonly eventText: string;
  readonly sourceText: string;
  /** Order number as text: it has more digits than a number holds. */
  readonly seq: string;
  /** Time and order number of the event, as links name it. */
  readonly place: string;
}

/** The event at a place, with its source event; undefined if it no longer exists. */
export async function readDetail(place: string, abort: AbortSignal): Promise<EventDetail | undefined> {
  const text = await getText('/api/v1/portal/source-events', { from: place, limit: 1 }, { signal: abort });
  const data = membersOf(text).get('data');
  if (data === undefined) throw brokenAnswer();
  const [pair] = membersOf(data).values();
  if (pair === undefined) return undefined;
  const {
    event: eventText = '{}',
    source: sourceText = '{}',
    seq: number = '""',
  } = Object.fromEntries(membersOf(pair));
  const event = JSON.parse(eventText) as AuditEvent;
  const seq = JSON.parse(number) as string;
  if (placeText({ time: event.time, seq }) !== place) return undefined;
  return { event, eventText, sourceText, seq, place };
}

/** Fields that filters compare and the audit event does not show. */
export function fieldsOf(sourceText: string) {
  const { message } = JSON.parse(sourceText) as { message?: Readonly<Record<string, unknown>> };
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);
  const member = (name: string, inner: string) => {
    const value = message?.[name];
    return typeof value === 'object' && value !== null
      ? text((value as Readonly<Record<string, unknown>>)[inner])
      : undefined;
  };
  return {
    userId: member('actor', 'id'),
    target: text(message?.['target']) ?? member('target', 'name'),
    file: member('sender', 'file'),
    hash: member('sender', 'hash'),
  };
}
