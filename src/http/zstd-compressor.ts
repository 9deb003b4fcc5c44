import { Transform, type TransformCallback } from 'node:stream';
import type { Zstd } from '@hpcc-js/wasm-zstd';
import { limits } from './limits.ts';

/** Loaded on first use: compiling it takes 60 ms, which most processes never need. */
export async function loadZstd(): Promise<Zstd> {
  const library = await import('@hpcc-js/wasm-zstd');
  return library.Zstd.load();
}

/** What the library has inside: the class of states, of which it makes one for everybody. */
interface Inside {
  readonly _zstdClass: new () => State;
}

interface State {
  delete(): void;
}

function hasInside(value: object): value is Inside {
  return '_zstdClass' in value && typeof value._zstdClass === 'function';
}

/** One frame in the making. It has a state of its own in the memory of the library until it is freed. */
class Frame {
  readonly #state: State;
  readonly #zstd: Zstd;

  constructor(zstd: Zstd) {
    const inside: object = zstd;
    if (!hasInside(inside)) throw new Error('this version of @hpcc-js/wasm-zstd has no class of states');
    this.#state = new inside._zstdClass();
    this.#zstd = Object.create(zstd, { _zstd: { value: this.#state } }) as Zstd;
    this.#zstd.reset();
    this.#zstd.setCompressionLevel(1);
  }

  // The library gives views of its memory, which the next call overwrites: they are copied.
  add(piece: Uint8Array): Buffer {
    return Buffer.from(this.#zstd.compressChunk(piece));
  }

  end(): Buffer {
    return Buffer.from(this.#zstd.compressEnd());
  }

  free(): void {
    this.#state.delete();
  }
}

/**
 * Compresses to one zstd frame where Node cannot. One, since many readers stop after the first without a word, Node's
 * own among them, and would take a part of an export for the whole. It works on the event loop, in pieces of half a
 * millisecond with everything else that waits between them.
 */
export class ZstdCompressor extends Transform {
  static #open = 0;
  #frame: Frame | undefined;
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  /** Whether there may be another one: each holds 1.2 MB of memory that the process keeps. */
  static isAvailable(): boolean {
    return ZstdCompressor.#open < limits.zstdCompressorsMax;
  }

  constructor() {
    super();
    ZstdCompressor.#open++;
  }

  override _construct(done: (error?: Error | null) => void): void {
    void this.#begin(done);
  }

  async #begin(done: (error?: Error | null) => void): Promise<void> {
    try {
      this.#frame = new Frame(await loadZstd());
    } catch (error) {
      return done(error as Error);
    }
    done();
  }

  override _transform(chunk: Uint8Array, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes < limits.zstdPieceBytes) done();
    else this.#compressHeld(done);
  }

  override _flush(done: TransformCallback): void {
    this.#compressHeld((error) => {
      if (error) return done(error);
      this.#push((frame) => frame.end(), done);
    });
  }

  /** The library ends a block with each call, so small chunks wait for each other. */
  #compressHeld(done: TransformCallback): void {
    const bytes = this.#held.length === 1 ? this.#held[0] : Buffer.concat(this.#held, this.#heldBytes);
    this.#held = [];
    this.#heldBytes = 0;
    if (bytes === undefined || bytes.length === 0) return done();
    const next = (at: number): void => {
      const end = at + limits.zstdPieceBytes;
      this.#push(
        (frame) => frame.add(bytes.subarray(at, end)),
        (error) => {
          if (error) return done(error);
          if (end < bytes.length) setImmediate(next, end);
          else setImmediate(done);
        },
      );
    };
    next(0);
  }

  #push(make: (frame: Frame) => Buffer, done: TransformCallback): void {
    // Destroyed in the meantime: nobody wants the rest, or waits for it.
    if (this.#frame === undefined) return;
    let made: Buffer;
    try {
      made = make(this.#frame);
    } catch (error) {
      return done(error as Error);
    }
    if (made.length > 0) this.push(made);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    ZstdCompressor.#open--;
    this.#frame?.free();
    this.#frame = undefined;
    done(error);
  }
}
