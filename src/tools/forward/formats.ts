import type { ForwardedEvent } from './batch.ts';
import { lokiPush } from './loki.ts';
import { otlpExport } from './otlp.ts';

export const formatNames = ['ndjson', 'splunk-hec', 'elastic-bulk', 'loki', 'otlp'] as const;
export type FormatName = (typeof formatNames)[number];

/** Whether the format is one JSON document a batch, and no lines by event. */
export const isDocument = (format: FormatName): boolean => format === 'loki' || format === 'otlp';

/** Seconds with six digits, written from the whole number so that none of them is rounded. */
function seconds(micros: number): string {
  const digits = String(micros).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/**
 * A batch as it is sent. The event's own text is the same in all: Splunk's collector wants it wrapped, with the time
 * beside it; Elasticsearch's bulk interface wants an action before it, whose id makes a second delivery harmless; Loki
 * and OTLP have it as a text within one document.
 */
function formatBatch(
  format: FormatName,
  events: readonly ForwardedEvent[],
  labels: Readonly<Record<string, string>>,
): string {
  switch (format) {
    case 'ndjson':
      return events.map(({ text }) => `${text}\n`).join('');
    case 'splunk-hec':
      return events.map(({ text, time }) => `{"time":${seconds(time)},"event":${text}}\n`).join('');
    case 'elastic-bulk':
      return events.map((event) => `{"create":{"_id":"${event.id()}"}}\n${event.text}\n`).join('');
    case 'loki':
      return lokiPush(events, labels);
    case 'otlp':
      return otlpExport(events, labels);
    default:
      return format satisfies never;
  }
}

export function formatEvents(
  format: FormatName,
  events: readonly ForwardedEvent[],
  labels: Readonly<Record<string, string>> = {},
): Buffer {
  return Buffer.from(formatBatch(format, events, labels));
}
