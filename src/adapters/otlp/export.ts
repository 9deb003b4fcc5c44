import { Problem } from '../../base/errors/problem.ts';
import { readJson } from './json.ts';
import { readProtobuf } from './protobuf.ts';
import type { ExportSink } from './sink.ts';

export type OtlpForm = 'json' | 'protobuf';

/**
 * Reads log records in order; unknown fields are skipped. Throws Problem `malformed` for invalid bytes: then
 * nothing counts.
 */
export function readExport(bytes: Buffer, form: OtlpForm, sink: ExportSink): void {
  const fault = form === 'json' ? readJson(bytes, sink) : readProtobuf(bytes, sink);
  if (fault === undefined) return;
  const encoding = form === 'json' ? 'JSON' : 'protobuf';
  throw new Problem(
    'malformed',
    `The body is not an ExportLogsServiceRequest of OTLP in ${encoding}: ${fault}.`,
  );
}
