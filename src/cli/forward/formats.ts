import type { ForwardedEvent } from './batch.ts';

export const formatNames = ['ndjson', 'splunk-hec', 'elastic-bulk'] as const;
export type FormatName = (typeof formatNames)[number];

/** Seconds with six digits, written from the whole number so that none of them is rounded. */
function seconds(micros: number): string {
  const digits = String(micros).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/**
 * An event as one or two lines. The event's own text is the same in all: Splunk's collector wants it wrapped, with the
 * time beside it; Elasticsearch's bulk interface wants an action before it, whose id makes a second delivery harmless.
 */
function formatEvent(format: FormatName, event: ForwardedEvent): string {
  switch (format) {
    case 'ndjson':
      return `${event.text}\n`;
    case 'splunk-hec':
      return `{"time":${seconds(event.time)},"event":${event.text}}\n`;
    case 'elastic-bulk':
      return `{"create":{"_id":"${event.id()}"}}\n${event.text}\n`;
    default:
      return format satisfies never;
  }
}

export function formatEvents(format: FormatName, events: readonly ForwardedEvent[]): Buffer {
  return Buffer.from(events.map((event) => formatEvent(format, event)).join(''));
}
