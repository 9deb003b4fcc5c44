import { type ByteSink, putInteger, putRange, putText } from '../byte-sink.ts';
import { noBytes, viewOf } from '../json-cursor.ts';

export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Constants of output, at the beginning of the same memory. */
export class Constants {
  readonly #texts: string[];
  #length: number;

  /** Includes all constants of `others`, at the same positions. */
  constructor(others?: Constants) {
    this.#texts = others === undefined ? [] : [...others.#texts];
    this.#length = others === undefined ? 0 : others.#length;
  }

  add(text: string): Range {
    const start = this.#length;
    this.#texts.push(text);
    this.#length += text.length;
    return { start, end: this.#length };
  }

  bytes(): Uint8Array {
    return Buffer.from(this.#texts.join(''), 'latin1');
  }
}

export const shared = new Constants();

const comma = shared.add(',');
const quote = shared.add('"');
const close = shared.add('}');

const openBrace = 0x7b;
const keptBytesMax = 4 * 1024 * 1024;
const smallestBytes = 256 * 1024;

/** Bytes move within one buffer, which takes a third of the time of copying between two: constants | sources | events … */
export class Output implements ByteSink {
  bytes: Uint8Array = noBytes;
  view: DataView = viewOf(noBytes);
  length = 0;
  end = 0;
  /** Values of observables: constant before the value, start and end. */
  readonly observed: (Range | number)[] = [];
  readonly #constants: Uint8Array;
  #eventsStart = 0;

  constructor(constants: Constants) {
    this.#constants = constants.bytes();
  }

  open(sources: Uint8Array): number {
    const start = this.#constants.length;
    const needed = start + sources.length * 4;
    if (this.bytes.length < needed || (this.bytes.length > keptBytesMax && needed <= keptBytesMax))
      this.#resize(needed, 0);
    this.bytes.set(sources, start);
    this.length = start + sources.length;
    this.#eventsStart = this.length;
    return start;
  }

  /** True if the memory was replaced. */
  reserve(bytes: number): boolean {
    if (this.length + bytes <= this.end) return false;
    this.#resize(this.length + bytes, this.length);
    return true;
  }

  /** Valid until the next sources. */
  events(): Uint8Array {
    return this.bytes.subarray(this.#eventsStart, this.length);
  }

  put({ start, end }: Range): void {
    this.range(start, end);
  }

  range(start: number, end: number): void {
    putRange(this, start, end);
  }

  text(text: string): void {
    putText(this, text);
  }

  integer(value: number): void {
    putInteger(this, value);
  }

  comma(): void {
    this.range(comma.start, comma.end);
  }

  quote(): void {
    this.range(quote.start, quote.end);
  }

  /**
   * Closes an object whose members, each after a comma, begin at `start`: the first comma becomes its brace.
   */
  closeObject(start: number): void {
    this.bytes[start] = openBrace;
    this.put(close);
  }

  observe(before: Range, start: number, end: number): void {
    this.observed.push(before, start, end);
  }

  #resize(needed: number, kept: number): void {
    const size = 2 ** Math.ceil(Math.log2(Math.max(needed, smallestBytes)));
    const bytes = new Uint8Array(size);
    bytes.set(kept === 0 ? this.#constants : this.bytes.subarray(0, kept));
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.end = size;
  }
}
