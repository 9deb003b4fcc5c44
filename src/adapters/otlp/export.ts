import { Problem } from '../../base/errors/problem.ts';
import { readJson } from './json.ts';
import { readProtobuf } from './protobuf.ts';
import type { ExportSink } from './sink.ts';

/** How an export request of OTLP is written: the two encodings of OTLP/HTTP. */
export type OtlpForm = 'json' | 'protobuf';

/**
 * Reads the log records of an ExportLogsServiceRequest, in their order. Fields that are not known are passed over.
 * Throws Problem `malformed` where the bytes are no such message: nothing of it counts then, whatever was handed out.
 */
export function readExport(bytes: Buffer, form: OtlpForm, sink: ExportSink): void {
  const fault = form === 'json' ? readJson(bytes, sink) : readProtobuf(bytes, sink);
  if (fault === undefined) return;
  const encoding = form === 'json' ? 'JSON' : 'protobuf';
  throw new Problem('malformed', `The body is no ExportLogsServiceRequest of OTLP in ${encoding}: ${fault}.`);
}
