import type { ForwardedEvent } from './batch.ts';

/**
 * A push request with one stream. Loki drops entries equal in stream, time and text, so a second delivery is
 * harmless.
 */
export function lokiPush(
  events: readonly ForwardedEvent[],
  labels: Readonly<Record<string, string>>,
): string {
  const values = events.map(({ time, text }) => [`${time}000`, text]);
  return `${JSON.stringify({ streams: [{ stream: { service_name: 'auditlog', ...labels }, values }] })}\n`;
}
