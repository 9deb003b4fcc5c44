import type { ForwardedEvent } from './batch.ts';

/**
 * A push request: all events are one stream. Loki drops lines that are equal in stream, time and text, so a second
 * delivery changes nothing.
 */
export function lokiPush(
  events: readonly ForwardedEvent[],
  labels: Readonly<Record<string, string>>,
): string {
  const values = events.map(({ time, text }) => [`${time}000`, text]);
  return `${JSON.stringify({ streams: [{ stream: { service_name: 'auditlog', ...labels }, values }] })}\n`;
}
