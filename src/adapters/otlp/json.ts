import { isUtf8 } from 'node:buffer';
import { faultText } from '../../base/errors/fault.ts';
import {
  type ContainerEnds,
  containerEnds,
  firstToken,
  lastToken,
  splitArray,
  splitElements,
} from '../../ocsf/json-array.ts';
import {
  backslash,
  closeBrace,
  colon,
  Cursor,
  openBrace,
  openBracket,
  quote,
} from '../../ocsf/json-cursor.ts';
import { describeFault, isAtEnd, skipValue } from '../../ocsf/json-text.ts';
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

const indexedDepth = 4;

/** A JSON value in the body, perhaps with trailing white space. */
interface Span {
  readonly start: number;
  readonly end: number;
  /** For errors. */
  readonly at: string;
}

class ShapeFault extends Error {}

/** Senders may use any number of other names. */
const knownNames: ReadonlySet<string> = new Set(
  [
    'resourceLogs resource scopeLogs scope logRecords schemaUrl name version timeUnixNano',
    'observedTimeUnixNano severityNumber severityText eventName body flags attributes',
    'droppedAttributesCount traceId spanId key value values stringValue boolValue intValue',
    'doubleValue bytesValue arrayValue kvlistValue',
  ].flatMap((line) => line.split(' ')),
);
const firstOfNull = 0x6e;

export function readJson(bytes: Buffer, sink: ExportSink): string | undefined {
  if (!isUtf8(bytes)) return 'it is not valid UTF-8';
  try {
    new ExportReader(bytes, sink).read();
    return undefined;
  } catch (error) {
    if (error instanceof ShapeFault || error instanceof RecordFault) return error.message;
    throw error;
  }
}

/**
 * Locates lists, records and members by brackets and strings, then checks and reads each record by itself:
 * parsing a large body at once would take many times its size in objects.
 */
class ExportReader {
  readonly #bytes: Buffer;
  readonly #sink: ExportSink;
  readonly #cursor = new Cursor();
  /** Of the last value that was deep enough: scanning again at each level would multiply the work. */
  #ends: ContainerEnds | undefined;

  constructor(bytes: Buffer, sink: ExportSink) {
    this.#bytes = bytes;
    this.#sink = sink;
  }

  read(): void {
    const start = firstToken(this.#bytes, 0, this.#bytes.length);
    const body = this.#container({ start, end: this.#bytes.length, at: '' }, 'resourceLogs');
    for (const list of this.#elements(body.get('resourceLogs'))) this.#resourceLogs(list);
  }

  #resourceLogs(span: Span): void {
    const members = this.#container(span, 'scopeLogs');
    const resource = {
      ...this.#shared(members.get('resource')),
      schemaUrl: this.#text(members.get('schemaUrl')),
    };
    for (const list of this.#elements(members.get('scopeLogs'))) this.#scopeLogs(list, resource);
  }

  #scopeLogs(span: Span, resource: Resource): void {
    const members = this.#container(span, 'logRecords');
    const scope = { ...this.#shared(members.get('scope')), schemaUrl: this.#text(members.get('schemaUrl')) };
    const shared = sharedText(resource, scope);
    for (const record of this.#elements(members.get('logRecords'))) {
      if (isOversized(record.end - record.start)) {
        this.#sink.record(oversizedRecord);
        continue;
      }
      this.#check(record);
      this.#sink.record(this.#line(record, shared));
    }
  }

  #line(record: Span, shared: ReturnType<typeof sharedText>): string {
    try {
      return recordText(this.#record(record), shared);
    } catch (error) {
      if (!(error instanceof RecordFault)) throw error;
      return refusedRecord(error.pointer.slice(record.at.length), error.rule);
    }
  }

  /** The members of an object, all checked but the list in it. */
  #container(span: Span, list: string): ReadonlyMap<string, Span> {
    return this.#members(span, (name, value) => {
      if (name !== list || this.#bytes[value.start] !== openBracket) this.#check(value);
    });
  }

  /**
   * Throws ShapeFault for invalid JSON. Valid JSON that no event may contain, such as a lone surrogate,
   * passes: the event rules refuse only that record.
   */
  #check({ start, end, at }: Span): void {
    const cursor = this.#cursor;
    const first = cursor.open(this.#bytes, start, end, this.#bytes.toString('latin1', start, end), 0);
    if (isAtEnd(cursor, skipValue(cursor, first, 0))) return;
    const fault = describeFault(cursor, start);
    if (isOversized(end - start)) throw shapeFault(at, fault);
    try {
      JSON.parse(this.#bytes.toString('utf8', start, end));
    } catch (error) {
      if (error instanceof SyntaxError) throw shapeFault(at, fault);
      throw error;
    }
  }

  #shared(span: Span | undefined): Scope {
    if (span === undefined) return {};
    checkSharedSize(span.end - span.start);
    const members = this.#members(span);
    return {
      name: this.#text(members.get('name')),
      version: this.#text(members.get('version')),
      attributes: this.#attributes(members.get('attributes')),
      droppedAttributesCount: this.#number(members.get('droppedAttributesCount')),
    };
  }

  #record(span: Span): RecordFields {
    const members = this.#members(span);
    const body = members.get('body');
    return {
      timeUnixNano: this.#digits(members.get('timeUnixNano')),
      observedTimeUnixNano: this.#digits(members.get('observedTimeUnixNano')),
      severityNumber: this.#number(members.get('severityNumber')),
      severityText: this.#text(members.get('severityText')),
      eventName: this.#text(members.get('eventName')),
      body: body && this.#value(body, 1),
      attributes: this.#attributes(members.get('attributes')),
      droppedAttributesCount: this.#number(members.get('droppedAttributesCount')),
      flags: this.#number(members.get('flags')),
      traceId: this.#text(members.get('traceId'))?.toLowerCase(),
      spanId: this.#text(members.get('spanId'))?.toLowerCase(),
    };
  }

  #attributes(span: Span | undefined): string | undefined {
    return attributesText(this.#keyValues(span, 1));
  }

  /** Of a repeated key the last counts. */
  #keyValues(span: Span | undefined, depth: number): ReadonlyMap<string, string> {
    const values = new Map<string, string>();
    for (const pair of this.#elements(span)) {
      const members = this.#members(pair);
      const value = members.get('value');
      values.set(
        this.#text(members.get('key')) ?? '',
        value === undefined ? 'null' : this.#value(value, depth),
      );
    }
    return values;
  }

  /** An AnyValue as JSON text; of several kinds the last counts. */
  #value(span: Span, depth: number): string {
    let text = 'null';
    if (depth > limits.valueDepthMax) throw tooDeep(span.at);
    if (depth === indexedDepth) this.#ends = containerEnds(this.#bytes, span.start, span.end);
    for (const [name, value] of this.#members(span)) {
      switch (name) {
        case 'stringValue':
          text = JSON.stringify(this.#text(value));
          break;
        case 'bytesValue':
          text = JSON.stringify(this.#base64(value));
          break;
        case 'boolValue':
          text = this.#raw(value);
          if (text !== 'true' && text !== 'false') throw mismatch(value, 'true or false');
          break;
        case 'intValue':
          text = this.#digits(value);
          break;
        case 'doubleValue':
          text = this.#double(value);
          break;
        case 'arrayValue':
          text = `[${this.#elements(this.#members(value).get('values'))
            .map((element) => this.#value(element, depth + 1))
            .join(',')}]`;
          break;
        case 'kvlistValue':
          text = attributesText(this.#keyValues(this.#members(value).get('values'), depth + 1)) ?? '{}';
          break;
        default:
      }
    }
    return text;
  }

  /** A 64-bit integer: digits in quotes, as in protobuf's JSON, or a number. */
  #digits(span: Span): string;
  #digits(span: Span | undefined): string | undefined;
  #digits(span: Span | undefined): string | undefined {
    if (span === undefined) return undefined;
    const raw = this.#raw(span);
    const text = raw.startsWith('"') ? (JSON.parse(raw) as string) : raw;
    if (!/^-?\d{1,20}$/.test(text)) throw mismatch(span, 'a 64-bit integer');
    return BigInt(text).toString();
  }

  /** Either alphabet of base64, with or without padding, as in protobuf's JSON. */
  #base64(span: Span): string {
    const text = this.#text(span);
    const digits = text.replace(/={1,2}$/, '');
    const isWhole = digits === text ? digits.length % 4 !== 1 : text.length % 4 === 0;
    if (!isWhole || !/^[\w+/-]*$/.test(digits)) throw new RecordFault(span.at, 'must be base64');
    return Buffer.from(text, 'base64').toString('base64');
  }

  #double(span: Span): string {
    const raw = this.#raw(span);
    if (!raw.startsWith('"')) {
      if (Number.isNaN(Number(raw))) throw mismatch(span, 'a number');
      if (!Number.isFinite(Number(raw))) throw new RecordFault(span.at, 'must be a double');
      return raw;
    }
    const text = JSON.parse(raw) as string;
    const value = Number(text);
    if (text.trim() === '' || (Number.isNaN(value) && text !== 'NaN')) throw mismatch(span, 'a number');
    return doubleText(value);
  }

  #number(span: Span | undefined): number | undefined {
    if (span === undefined) return undefined;
    const value = Number(this.#digits(span));
    if (value < -(2 ** 31) || value >= 2 ** 32) throw mismatch(span, 'a 32-bit integer');
    return value;
  }

  #text(span: Span): string;
  #text(span: Span | undefined): string | undefined;
  #text(span: Span | undefined): string | undefined {
    if (span === undefined) return undefined;
    if (this.#bytes[span.start] !== quote) throw mismatch(span, 'a text');
    const text = JSON.parse(this.#raw(span)) as string;
    checkText(text, span.at);
    return text;
  }

  #raw({ start, end }: Span): string {
    return this.#bytes.toString('utf8', start, end).trimEnd();
  }

  /** Every element counts for the bound, attributes too: each takes as much work as a small record. */
  #elements(span: Span | undefined): Span[] {
    if (span === undefined) return [];
    if (this.#bytes[span.start] !== openBracket) throw mismatch(span, 'an array');
    const elements: Span[] = [];
    const keep = (start: number, end: number): void => {
      this.#sink.element();
      elements.push({ start, end, at: `${span.at}/${elements.length}` });
    };
    const fault = splitArray(this.#bytes, span.start, span.end, keep, this.#ends);
    if (fault !== undefined) throw shapeFault(span.at, `is not acceptable JSON: ${fault}`);
    return elements;
  }

  /** Members of known names with a value other than null. Of a repeated name the last counts. */
  #members(
    span: Span,
    onMember: (name: string, value: Span) => void = () => undefined,
  ): ReadonlyMap<string, Span> {
    const bytes = this.#bytes;
    const last = lastToken(bytes, span.start, span.end) - 1;
    const isObject = bytes[span.start] === openBrace && bytes[last] === closeBrace && last > span.start;
    if (!isObject) {
      this.#check(span);
      throw mismatch(span, 'an object');
    }
    const members = new Map<string, Span>();
    const first = firstToken(bytes, span.start + 1, last);
    if (first === last) return members;
    const onEach = (start: number, end: number): void => {
      const [name, valueStart] = this.#member(start, end, span.at);
      const value = { start: valueStart, end, at: knownNames.has(name) ? `${span.at}/${name}` : span.at };
      onMember(name, value);
      if (bytes[valueStart] === firstOfNull) members.delete(name);
      else if (knownNames.has(name)) members.set(name, value);
    };
    const fault = splitElements(bytes, first, last, onEach, this.#ends);
    if (fault !== undefined) throw shapeFault(span.at, `is not acceptable JSON: ${fault}`);
    return members;
  }

  #member(start: number, end: number, at: string): readonly [name: string, value: number] {
    const bytes = this.#bytes;
    const nameEnd = bytes[start] === quote ? endOfString(bytes, start, end) : start;
    const after = firstToken(bytes, nameEnd, end);
    const value = firstToken(bytes, after + 1, end);
    const name = bytes[after] === colon && value < end ? textIn(bytes, start, nameEnd) : undefined;
    if (name === undefined)
      throw shapeFault(at, `is not acceptable JSON: expected a name and a value at byte ${start}`);
    return [name, value];
  }
}

function endOfString(bytes: Buffer, at: number, end: number): number {
  let next = at + 1;
  while (next < end && bytes[next] !== quote) next += bytes[next] === backslash ? 2 : 1;
  return next + 1;
}

function textIn(bytes: Buffer, start: number, end: number): string | undefined {
  try {
    return JSON.parse(bytes.toString('utf8', start, end)) as string;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const mismatch = ({ at }: Span, expected: string): ShapeFault => shapeFault(at, `must be ${expected}`);

function shapeFault(pointer: string, rule: string): ShapeFault {
  return new ShapeFault(faultText('body', pointer, rule));
}
