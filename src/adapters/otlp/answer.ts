import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { OtlpForm } from './export.ts';

export const mediaTypes: Readonly<Record<OtlpForm, string>> = {
  json: 'application/json',
  protobuf: 'application/x-protobuf',
};

export interface PartialSuccess {
  readonly rejectedLogRecords: number;
  readonly errorMessage: string;
}

/** ExportLogsServiceResponse: empty if every record was accepted. */
export function exportAnswer(form: OtlpForm, partial: PartialSuccess | undefined): string | Uint8Array {
  if (form === 'json') {
    // 64-bit integers are strings in protobuf's JSON.
    const partialSuccess = partial && { ...partial, rejectedLogRecords: String(partial.rejectedLogRecords) };
    return `${JSON.stringify({ partialSuccess })}\n`;
  }
  const writer = new BinaryWriter();
  if (partial !== undefined) {
    writer.tag(1, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.Varint).int64(partial.rejectedLogRecords);
    writer.tag(2, WireType.LengthDelimited).string(partial.errorMessage);
    writer.join();
  }
  return writer.finish();
}

/** google.rpc.Status: OTLP's error answer. */
export function statusAnswer(form: OtlpForm, code: number, message: string): string | Uint8Array {
  if (form === 'json') return `${JSON.stringify({ code, message })}\n`;
  const writer = new BinaryWriter();
  writer.tag(1, WireType.Varint).int32(code);
  writer.tag(2, WireType.LengthDelimited).string(message);
  return writer.finish();
}
