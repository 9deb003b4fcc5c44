import type { ForwardedEvent } from './batch.ts';

/**
 * A push request of Loki: all events are one stream, by its labels. Loki keeps one of lines that are equal in stream, time
 * and text, so a batch that is sent twice changes nothing where an event has the same text each time it is read.
 */
export function lokiPush(
  events: readonly ForwardedEvent[],
  labels: Readonly<Record<string, string>>,
): string {
  const values = events.map(({ time, text }) => [`${time}000`, text]);
  return `${JSON.stringify({ streams: [{ stream: { service_name: 'auditlog', ...labels }, values }] })}\n`;
}
