import { AuditlogError } from '../../client/client.ts';
import type { ForwardedEvent } from './batch.ts';
import { severityOf } from './severity.ts';

/** OpenTelemetry severity numbers of OCSF severities, Unknown to Fatal. */
const severityNumbers = [0, 9, 10, 13, 17, 18, 21] as const;

export function otlpExport(
  events: readonly ForwardedEvent[],
  labels: Readonly<Record<string, string>>,
): string {
  const attributes = Object.entries({ 'service.name': 'auditlog', ...labels }).map(textAttribute);
  const logRecords = events.map((event) => ({
    timeUnixNano: `${event.time}000`,
    severityNumber: severityNumbers[severityOf(event)] ?? 0,
    body: { stringValue: event.text },
    attributes: [textAttribute(['log.record.uid', event.id()])],
  }));
  const scopeLogs = [{ scope: { name: 'auditlog forward' }, logRecords }];
  return `${JSON.stringify({ resourceLogs: [{ resource: { attributes }, scopeLogs }] })}\n`;
}

const textAttribute = ([key, stringValue]: readonly [string, string]) => ({ key, value: { stringValue } });

/** OTLP does not identify the refused records. */
export function rejectedByOtlp(text: string): number {
  try {
    const answer = (text === '' ? null : JSON.parse(text)) as {
      readonly partialSuccess?: { readonly rejectedLogRecords?: string | number };
    } | null;
    const rejected = Number(answer?.partialSuccess?.rejectedLogRecords ?? 0);
    if (Number.isSafeInteger(rejected) && rejected >= 0) return rejected;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new AuditlogError('protocol', 'the answer of the destination is not OTLP');
}
