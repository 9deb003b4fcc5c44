import { Transform, type TransformCallback } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { loadZstd, ZstdFrame } from './zstd.ts';

const zstdPieceBytes = 64 * 1024;

/**
 * One zstd frame: many readers, Node's own among them, stop after the first frame without an error. Works in
 * pieces, so that the event loop stays free.
 */
export class ZstdCompressor extends Transform {
  static #open = 0;
  readonly #level: number;
  #frame: ZstdFrame | undefined;
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;

  static open(): number {
    return ZstdCompressor.#open;
  }

  constructor(level: number) {
    super();
    this.#level = level;
    ZstdCompressor.#open++;
  }

  override _construct(done: TransformCallback): void {
    void settle(this.#begin(), done);
  }

  /** Each piece is a block, so small chunks are collected. */
  override _transform(chunk: Uint8Array, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
    if (this.#bufferedBytes < zstdPieceBytes) done();
    else void settle(this.#compressHeld(), done);
  }

  override _flush(done: TransformCallback): void {
    void settle(this.#finish(), done);
  }

  async #begin(): Promise<void> {
    await loadZstd();
    this.#frame = new ZstdFrame(this.#level);
  }

  async #finish(): Promise<void> {
    await this.#compressHeld();
    if (this.#frame !== undefined) this.push(this.#frame.end());
  }

  async #compressHeld(): Promise<void> {
    const bytes = Buffer.concat(this.#chunks, this.#bufferedBytes);
    this.#chunks = [];
    this.#bufferedBytes = 0;
    for (let at = 0; at < bytes.length; at += zstdPieceBytes) {
      // Destroyed meanwhile.
      if (this.#frame === undefined) return;
      this.push(this.#frame.add(bytes.subarray(at, at + zstdPieceBytes)));
      await setImmediate();
    }
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    ZstdCompressor.#open--;
    this.#frame?.free();
    this.#frame = undefined;
    done(error);
  }
}

async function settle(work: Promise<void>, done: TransformCallback): Promise<void> {
  try {
    await work;
  } catch (error) {
    return done(error as Error);
  }
  done();
}
