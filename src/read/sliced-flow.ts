import type { ByteFlow, ByteSink } from '../base/bytes/byte-flow.ts';

const pagePieceBytes = 256 * 1024;

export interface SliceBytes {
  readonly bytes: Uint8Array;
  release(): void;
}

export interface Around {
  readonly before: string;
  readonly between: string;
  readonly after: string;
}

/**
 * Reads an answer slice by slice, each once the previous one was consumed, so a slow reader holds no query:
 *
 *     next slice ──read──▶ buffered ──pieces──▶ sink      a failed read fails the answer: never a clean end
 */
export class SlicedFlow<Slice> implements ByteFlow {
  readonly #slices: readonly Slice[];
  readonly #read: (slice: Slice, signal: AbortSignal) => Promise<SliceBytes>;
  readonly #around: Around;
  readonly #reading = new AbortController();
  readonly #closedCallbacks: (() => void)[] = [];
  #sink: ByteSink | undefined;
  #next = 0;
  #slice: SliceBytes | undefined;
  #sentBytes = 0;
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
    this.#sendAll(this.#sink).catch((error: unknown) => this.#fail(error as Error));
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
    return this.#slice === undefined ? 0 : this.#slice.bytes.length - this.#sentBytes;
  }

  async #sendAll(sink: ByteSink): Promise<void> {
    while (this.#isWanted && !this.#isClosed) {
      if (this.#slice !== undefined) this.#sendPiece(sink, this.#slice);
      else if (this.#next < this.#slices.length) await this.#readNext(sink);
      else return this.#end(sink);
    }
    this.#isBusy = false;
  }

  /** The text before the first slice waits for it, so that an earlier failure can still be answered. */
  async #readNext(sink: ByteSink): Promise<void> {
    const { before, between } = this.#around;
    const isFirst = this.#next === 0;
    const slice = await this.#read(this.#slices[this.#next++] as Slice, this.#reading.signal);
    if (this.#isClosed) return slice.release();
    this.#slice = slice;
    this.#sentBytes = 0;
    this.#send(sink, Buffer.from(isFirst ? before : between));
  }

  #sendPiece(sink: ByteSink, { bytes }: SliceBytes): void {
    const piece = bytes.subarray(this.#sentBytes, this.#sentBytes + pagePieceBytes);
    this.#sentBytes += piece.length;
    this.#send(sink, piece);
    if (this.#sentBytes === bytes.length) this.#releaseSlice();
  }

  #send(sink: ByteSink, piece: Uint8Array): void {
    if (piece.length > 0 && !this.#isClosed) this.#isWanted = sink.data(piece);
  }

  #end(sink: ByteSink): void {
    const { before, after } = this.#around;
    this.#send(sink, Buffer.from(this.#slices.length === 0 ? before + after : after));
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
    this.#releaseSlice();
    for (const callback of this.#closedCallbacks) callback();
  }

  #releaseSlice(): void {
    this.#slice?.release();
    this.#slice = undefined;
  }
}
