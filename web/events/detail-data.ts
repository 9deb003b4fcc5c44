import { getText } from '../api/request.ts';
import type { AuditEvent } from '../api/types.ts';
import { membersOf } from '../ui/json-text.ts';
import { toRfc3339 } from '../api/instant.ts';
import { limits } from './limits.ts';

/** An event with the texts that it stands for; both keep every digit. */
export interface EventDetail {
  readonly event: AuditEvent;
  readonly eventText: string;
  readonly sourceText: string;
  /** Its order number, in more digits than a number holds. */
  readonly seq: string;
}

/**
 * The event at a moment (Unix microseconds), with its source event. Of several at the same microsecond `like` tells which;
 * without it the first. Undefined where there is none any more.
 */
export async function readDetail(
  micros: number,
  like: AuditEvent | undefined,
  abort: AbortSignal,
): Promise<EventDetail | undefined> {
  const time = toRfc3339(micros);
  const parameters = { startTime: time, endTime: time, limit: limits.sameMomentEvents };
  const text = await getText('/api/v1/portal/source-events', parameters, { signal: abort });
  const details = Array.from(membersOf(membersOf(text).get('data') ?? '[]').values(), (pair) => {
    const { event = '{}', source = '{}', seq = '""' } = Object.fromEntries(membersOf(pair));
    return {
      event: JSON.parse(event) as AuditEvent,
      eventText: event,
      sourceText: source,
      seq: JSON.parse(seq) as string,
    };
  });
  return like === undefined ? details[0] : details.find(({ event }) => isSame(event, like));
}

/** Whether two answers tell of the same event: all but the time of the answer is as it was stored. */
export function isSame(a: AuditEvent, b: AuditEvent): boolean {
  return a.time === b.time && stableText(a) === stableText(b);
}

function stableText({ metadata, ...event }: AuditEvent): string {
  return JSON.stringify({ ...event, metadata: { ...metadata, logged_time: 0 } });
}
