import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { limits } from './limits.ts';
import {
  attributesText,
  checkSharedSize,
  checkText,
  doubleText,
  isOversized,
  oversizedRecord,
  RecordFault,
  type RecordFields,
  recordText,
  refusedRecord,
  type Resource,
  type Scope,
  sharedText,
  tooDeep,
} from './record.ts';
import type { ExportSink } from './sink.ts';

/**
 * Reads the messages of opentelemetry/proto/logs/v1/logs.proto field by field: objects for all of them would
 * take several times the memory of a large body.
 */

type Span = readonly [start: number, end: number];
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A field's number and wire type in one number, as in protobuf. A field with another wire type is unknown.
 */
const lengthTag = (field: number): number => field * 8 + WireType.LengthDelimited;
const varintTag = (field: number): number => field * 8 + WireType.Varint;
const fixed64Tag = (field: number): number => field * 8 + WireType.Bit64;
const fixed32Tag = (field: number): number => field * 8 + WireType.Bit32;

/** Repeated fields are merged. */
interface SharedState {
  schemaUrl?: string;
  bytes: number;
}

class WireFault extends Error {}

/** Returns undefined, or the fault. */
export function readProtobuf(bytes: Uint8Array, sink: ExportSink): string | undefined {
  const reader = new BinaryReader(bytes);
  try {
    for (const resourceLogs of readSharedFirst(reader, [0, bytes.length], sink))
      readResourceLogs(reader, resourceLogs, sink);
    return undefined;
  } catch (error) {
    if (error instanceof WireFault) return error.message;
    if (error instanceof RecordFault) return `a text or value of a resource or scope ${error.rule}`;
    throw error;
  }
}

function readSharedFirst(reader: BinaryReader, span: Span, sink: ExportSink): Span[] {
  const lists: Span[] = [];
  decoding(reader, () =>
    readFields(reader, span, (tag) => {
      if (tag !== lengthTag(1)) return false;
      sink.element();
      lists.push(passMessage(reader));
      return true;
    }),
  );
  return lists;
}

/** Fields come in any order, so lists are read after the values that their records share. */
function readResourceLogs(reader: BinaryReader, span: Span, sink: ExportSink): void {
  const resource: Mutable<Resource> & SharedState = { bytes: 0 };
  const attributes = new Map<string, string>();
  const lists: Span[] = [];
  decoding(reader, () =>
    readFields(reader, span, (tag) => {
      if (tag === lengthTag(1)) readShared(reader, 1, resource, attributes);
      else if (tag === lengthTag(2)) {
        sink.element();
        lists.push(passMessage(reader));
      } else if (tag === lengthTag(3)) resource.schemaUrl = textIn(reader);
      else return false;
      return true;
    }),
  );
  const whole = { ...resource, attributes: attributesText(attributes) };
  for (const list of lists) readScopeLogs(reader, list, whole, sink);
}

function readScopeLogs(reader: BinaryReader, span: Span, resource: Resource, sink: ExportSink): void {
  const scope: Mutable<Scope> & SharedState = { bytes: 0 };
  const attributes = new Map<string, string>();
  const records: Span[] = [];
  decoding(reader, () =>
    readFields(reader, span, (tag) => {
      if (tag === lengthTag(1)) readShared(reader, 3, scope, attributes);
      else if (tag === lengthTag(2)) {
        sink.element();
        records.push(passMessage(reader));
      } else if (tag === lengthTag(3)) scope.schemaUrl = textIn(reader);
      else return false;
      return true;
    }),
  );
  const shared = sharedText(resource, { ...scope, attributes: attributesText(attributes) });
  for (const record of records) {
    if (isOversized(record[1] - record[0])) {
      sink.record(oversizedRecord);
      continue;
    }
    sink.record(decoding(reader, () => readLine(reader, record, shared)));
  }
}

/**
 * Resource and InstrumentationScope differ in the number of their first attribute field; a scope has name and
 * version before.
 */
function readShared(
  reader: BinaryReader,
  attributesField: 1 | 3,
  into: Mutable<Scope> & SharedState,
  attributes: Map<string, string>,
): void {
  const span = readSpan(reader);
  into.bytes += span[1] - span[0];
  checkSharedSize(into.bytes);
  readFields(reader, span, (tag) => {
    if (tag === lengthTag(attributesField)) readKeyValue(reader, attributes, 1);
    else if (tag === varintTag(attributesField + 1)) into.droppedAttributesCount = reader.uint32();
    else if (attributesField === 3 && tag === lengthTag(1)) into.name = textIn(reader);
    else if (attributesField === 3 && tag === lengthTag(2)) into.version = textIn(reader);
    else return false;
    return true;
  });
}

/** A fault in a value names its field, which `at` holds. */
function readLine(reader: BinaryReader, span: Span, shared: ReturnType<typeof sharedText>): string {
  const at = { field: '' };
  try {
    return recordText(readRecord(reader, span, at), shared);
  } catch (error) {
    if (!(error instanceof RecordFault)) throw error;
    return refusedRecord(`/${at.field}`, error.rule);
  }
}

const fieldNames: ReadonlyMap<number, string> = new Map([
  [lengthTag(3), 'severityText'],
  [lengthTag(5), 'body'],
  [lengthTag(6), 'attributes'],
  [lengthTag(12), 'eventName'],
]);

function readRecord(reader: BinaryReader, span: Span, at: { field: string }): RecordFields {
  const record: Mutable<RecordFields> = {};
  const attributes = new Map<string, string>();
  readFields(reader, span, (tag) => {
    at.field = fieldNames.get(tag) ?? '';
    const read = recordFields.get(tag);
    if (read !== undefined) read(reader, record);
    else if (tag === lengthTag(6)) readKeyValue(reader, attributes, 1);
    else return false;
    return true;
  });
  record.attributes = attributesText(attributes);
  return record;
}

const recordFields: ReadonlyMap<number, (reader: BinaryReader, record: Mutable<RecordFields>) => void> =
  new Map([
    [fixed64Tag(1), (reader, record) => void (record.timeUnixNano = String(reader.fixed64()))],
    [varintTag(2), (reader, record) => void (record.severityNumber = reader.int32())],
    [lengthTag(3), (reader, record) => void (record.severityText = textIn(reader))],
    [lengthTag(5), (reader, record) => void (record.body = readValue(reader, 1))],
    [varintTag(7), (reader, record) => void (record.droppedAttributesCount = reader.uint32())],
    [fixed32Tag(8), (reader, record) => void (record.flags = reader.fixed32())],
    [lengthTag(9), (reader, record) => void (record.traceId = toHex(reader.bytes()))],
    [lengthTag(10), (reader, record) => void (record.spanId = toHex(reader.bytes()))],
    [fixed64Tag(11), (reader, record) => void (record.observedTimeUnixNano = String(reader.fixed64()))],
    [lengthTag(12), (reader, record) => void (record.eventName = textIn(reader))],
  ]);

/** The last value of a repeated key counts. */
function readKeyValue(reader: BinaryReader, into: Map<string, string>, depth: number): void {
  let key = '';
  let value = 'null';
  readFields(reader, readSpan(reader), (tag) => {
    if (tag === lengthTag(1)) key = textIn(reader);
    else if (tag === lengthTag(2)) value = readValue(reader, depth);
    else return false;
    return true;
  });
  into.set(key, value);
}

/** An AnyValue as JSON text: integers with all digits, bytes in base64, no value as null. */
function readValue(reader: BinaryReader, depth: number): string {
  const span = readSpan(reader);
  let text = 'null';
  if (depth > limits.valueDepthMax) throw tooDeep('');
  readFields(reader, span, (tag) => {
    const read = valueFields.get(tag);
    if (read === undefined) return false;
    text = read(reader, depth);
    return true;
  });
  return text;
}

const valueFields: ReadonlyMap<number, (reader: BinaryReader, depth: number) => string> = new Map([
  [lengthTag(1), (reader) => JSON.stringify(textIn(reader))],
  [varintTag(2), (reader) => String(reader.bool())],
  [varintTag(3), (reader) => String(reader.int64())],
  [fixed64Tag(4), (reader) => doubleText(reader.double())],
  [lengthTag(5), readArray],
  [lengthTag(6), readKeyValueList],
  [lengthTag(7), (reader) => JSON.stringify(Buffer.from(reader.bytes()).toString('base64'))],
]);

function readArray(reader: BinaryReader, depth: number): string {
  const values: string[] = [];
  readFields(reader, readSpan(reader), (tag) => {
    if (tag !== lengthTag(1)) return false;
    values.push(readValue(reader, depth + 1));
    return true;
  });
  return `[${values.join(',')}]`;
}

function readKeyValueList(reader: BinaryReader, depth: number): string {
  const values = new Map<string, string>();
  readFields(reader, readSpan(reader), (tag) => {
    if (tag !== lengthTag(1)) return false;
    readKeyValue(reader, values, depth + 1);
    return true;
  });
  return attributesText(values) ?? '{}';
}

function describeError(error: Error): string {
  if ('code' in error) return 'a text is not valid UTF-8';
  return error instanceof RangeError
    ? 'a field ends beyond the body'
    : 'a field is not written as protobuf has it';
}

function textIn(reader: BinaryReader): string {
  const text = reader.string(true);
  checkText(text, '');
  return text;
}

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function readSpan(reader: BinaryReader): Span {
  const length = reader.uint32();
  return [reader.pos, reader.pos + length];
}

function passMessage(reader: BinaryReader): Span {
  const span = readSpan(reader);
  [, reader.pos] = span;
  return span;
}

/** Calls `onField` with each tag; skips a field that it does not read. */
function readFields(reader: BinaryReader, [start, end]: Span, onField: (tag: number) => boolean): void {
  reader.pos = start;
  if (end > reader.len) throw new WireFault(`a message ends beyond the body, at byte ${start}`);
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    if (!onField(field * 8 + type)) reader.skip(type, field);
  }
  if (reader.pos !== end) throw new WireFault(`a field ends beyond its message, at byte ${end}`);
}

/**
 * Runs code that only reads bytes: the library rejects them with plain errors, RangeErrors, and errors of the
 * text decoder. Any other error is a defect.
 */
function decoding<T>(reader: BinaryReader, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const isOfBytes =
      error.constructor === Error ||
      error instanceof RangeError ||
      ('code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA');
    if (!isOfBytes) throw error;
    throw new WireFault(`${describeError(error)}, before byte ${reader.pos}`, { cause: error });
  }
}
