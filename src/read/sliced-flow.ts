import type { ByteFlow, ByteSink } from '../base/bytes/byte-flow.ts';

/** Pieces in which a slice is handed out. */
const pagePieceBytes = 256 * 1024;

/** A part of an answer, in memory that `release` gives back. */
export interface SliceBytes {
  readonly bytes: Uint8Array;
  release(): void;
}

/** Text before the first slice, between two, and behind the last. */
export interface Around {
  readonly before: string;
  readonly between: string;
  readonly after: string;
}

/**
 * An answer that is read slice by slice, each when the one before has been taken. So it costs one slice of memory, however
 * large it is and however slow its reader; and while the reader is slow the engine has nothing to do for it.
 *
 *     next slice ──read──▶ held ──pieces──▶ sink      a failed read is a failed answer: never a clean end
 */
export class SlicedFlow<Slice> implements ByteFlow {
  readonly #slices: readonly Slice[];
  readonly #read: (slice: Slice, signal: AbortSignal) => Promise<SliceBytes>;
  readonly #around: Around;
  readonly #reading = new AbortController();
  readonly #closedCallbacks: (() => void)[] = [];
  #sink: ByteSink | undefined;
  #next = 0;
  #held: SliceBytes | undefined;
  /** Bytes of the held slice that have been handed out. */
  #handed = 0;
  #isWanted = false;
  #isBusy = false;
  #isClosed = false;

  constructor(
    slices: readonly Slice[],
    read: (slice: Slice, signal: AbortSignal) => Promise<SliceBytes>,
    around: Around,
  ) {
    this.#slices = slices;
    this.#read = read;
    this.#around = around;
  }

  to(sink: ByteSink): void {
    this.#sink = sink;
    this.resume();
  }

  resume(): void {
    this.#isWanted = true;
    if (this.#isBusy || this.#isClosed || this.#sink === undefined) return;
    this.#isBusy = true;
    this.#handOut(this.#sink).catch((error: unknown) => this.#fail(error as Error));
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#reading.abort();
    this.#close();
  }

  onClosed(callback: () => void): void {
    if (this.#isClosed) callback();
    else this.#closedCallbacks.push(callback);
  }

  bufferedBytes(): number {
    return this.#held === undefined ? 0 : this.#held.bytes.length - this.#handed;
  }

  /** Until the sink wants no more, or all is handed out. */
  async #handOut(sink: ByteSink): Promise<void> {
    while (this.#isWanted && !this.#isClosed) {
      if (this.#held !== undefined) this.#handPiece(sink, this.#held);
      else if (this.#next < this.#slices.length) await this.#readNext(sink);
      else return this.#end(sink);
    }
    this.#isBusy = false;
  }

  /** The text before the first slice waits for it, so that a failure until then can still be answered. */
  async #readNext(sink: ByteSink): Promise<void> {
    const { before, between } = this.#around;
    const isFirst = this.#next === 0;
    const held = await this.#read(this.#slices[this.#next++] as Slice, this.#reading.signal);
    if (this.#isClosed) return held.release();
    this.#held = held;
    this.#handed = 0;
    this.#hand(sink, Buffer.from(isFirst ? before : between));
  }

  #handPiece(sink: ByteSink, { bytes }: SliceBytes): void {
    const piece = bytes.subarray(this.#handed, this.#handed + pagePieceBytes);
    this.#handed += piece.length;
    this.#hand(sink, piece);
    if (this.#handed === bytes.length) this.#releaseHeld();
  }

  #hand(sink: ByteSink, piece: Uint8Array): void {
    if (piece.length > 0 && !this.#isClosed) this.#isWanted = sink.data(piece);
  }

  #end(sink: ByteSink): void {
    const { before, after } = this.#around;
    this.#hand(sink, Buffer.from(this.#slices.length === 0 ? before + after : after));
    if (this.#isClosed) return;
    this.#close();
    sink.end();
  }

  #fail(error: Error): void {
    if (this.#isClosed) return;
    this.#close();
    this.#sink?.failed(error);
  }

  #close(): void {
    this.#isClosed = true;
    this.#releaseHeld();
    for (const callback of this.#closedCallbacks) callback();
  }

  #releaseHeld(): void {
    this.#held?.release();
    this.#held = undefined;
  }
}
