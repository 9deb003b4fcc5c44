import type { ForwardedEvent } from './batch.ts';
import { otlpExport } from './otlp.ts';

export const formatNames = ['ndjson', 'splunk-hec', 'elastic-bulk', 'loki', 'otlp'] as const;
export type FormatName = (typeof formatNames)[number];

export const isDocument = (format: FormatName): boolean => format === 'loki' || format === 'otlp';

function seconds(micros: number): string {
  const digits = String(micros).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/**
 * A push request with one stream. Loki drops entries equal in stream, time and text, so a second delivery is
 * harmless.
 */
function lokiPush(events: readonly ForwardedEvent[], labels: Readonly<Record<string, string>>): string {
  const values = events.map(({ time, text }) => [`${time}000`, text]);
  return `${JSON.stringify({ streams: [{ stream: { service_name: 'auditlog', ...labels }, values }] })}\n`;
}

/**
 * Splunk needs each event wrapped with its time, Elasticsearch an action before it (whose id makes a second
 * delivery harmless); Loki and OTLP take one document.
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
