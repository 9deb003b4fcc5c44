/**
 * zstd (RFC 8878) by the reference library in WebAssembly: Node 20 has none, and later decoders stop after
 * the first frame.
 */

export class ZstdFormatError extends Error {}

export class ZstdSizeError extends Error {}

/**
 * The package's own methods copy every result byte by byte, at ten times the cost of the compression, so this
 * file calls the compiled code; the version is pinned.
 */
interface Library {
  /** Replaced when the memory grows. */
  readonly HEAPU8: Uint8Array;
  _malloc(bytes: number): number;
  _free(address: number): void;
  readonly zstd: Functions;
}

type Call = (to: number, room: number, from: number, length: number) => number;

/** Unless noted, they return the bytes written or an error code. */
interface Functions {
  new (): State;
  compress(...place: [...Parameters<Call>, level: number]): number;
  readonly decompress: Call;
  /** Beyond all safe integers if the frame does not contain it. */
  getFrameContentSize(from: number, length: number): number;
  compressBound(length: number): number;
  CStreamOutSize(): number;
  isError(result: number): number;
  getErrorName(result: number): string;
}

interface State {
  setCompressionLevel(level: number): void;
  readonly compressChunk: Call;
  compressEnd(to: number, room: number): number;
  /** Returns the bytes written; 0 after an error. */
  readonly decompressChunk: Call;
  reset(): void;
  delete(): void;
}

export const zstdBlockBytesMax = 128 * 1024;

/** The library's errors are negative numbers, read as unsigned. */
const windowTooLarge = 2 ** 32 - 16;
const roomTooSmall = 2 ** 32 - 70;

let loaded: Library | undefined;

/** Await it before using this file. Compiling takes 0.1 s, which most processes never need. */
export async function loadZstd(): Promise<void> {
  if (loaded !== undefined) return;
  const { Zstd } = await import('@hpcc-js/wasm-zstd');
  const wrapper: { _mainModule?: { _module?: Library } } = Object(await Zstd.load());
  loaded = wrapper._mainModule?._module;
  if (loaded?.zstd === undefined) throw new Error('this release of @hpcc-js/wasm-zstd is not known');
}

function library(): Library {
  if (loaded === undefined) throw new Error('loadZstd() has not been awaited');
  return loaded;
}

function run(bytes: Uint8Array, room: number, call: Call): Buffer {
  const memory = library();
  const from = memory._malloc(bytes.length);
  const to = memory._malloc(room);
  try {
    if (from === 0 || to === 0) throw new Error('the memory of the zstd library is used up');
    memory.HEAPU8.set(bytes, from);
    const length = call(to, room, from, bytes.length);
    if (memory.zstd.isError(length) !== 0) throw zstdError(length);
    return Buffer.from(memory.HEAPU8.subarray(to, to + length));
  } finally {
    memory._free(to);
    memory._free(from);
  }
}

function zstdError(result: number): Error {
  const text = library().zstd.getErrorName(result);
  const isSize = result === windowTooLarge || result === roomTooSmall;
  return isSize ? new ZstdSizeError(text) : new ZstdFormatError(text);
}

export function compressZstd(bytes: Uint8Array, level: number): Buffer {
  const { zstd } = library();
  return run(bytes, zstd.compressBound(bytes.length), (...place) => zstd.compress(...place, level));
}

/**
 * The content of whole frames, checksums verified. Throws a ZstdSizeError above `bytesMax`, whatever the
 * header says, or a ZstdFormatError.
 */
export function decompressZstd(bytes: Uint8Array, bytesMax: number): Buffer {
  if (bytes.length === 0) throw new ZstdFormatError('zstd data is empty');
  const { zstd } = library();
  return run(bytes, bytesMax, (to, room, from, length) => {
    const size = zstd.getFrameContentSize(from, length);
    if (Number.isSafeInteger(size) && size > bytesMax) return roomTooSmall;
    return zstd.decompress(to, room, from, length);
  });
}

/** One frame, piece by piece. Uses 1.2 MB until freed. */
export class ZstdFrame {
  readonly #state: State;

  constructor(level: number) {
    this.#state = new (library().zstd)();
    this.#state.setCompressionLevel(level);
  }

  /** Each call ends a block: small pieces compress badly. */
  add(bytes: Uint8Array): Buffer {
    const { zstd } = library();
    const room = zstd.compressBound(bytes.length) + zstd.CStreamOutSize();
    return run(bytes, room, (...place) => this.#state.compressChunk(...place));
  }

  end(): Buffer {
    const room = library().zstd.CStreamOutSize();
    return run(new Uint8Array(0), room, (to) => this.#state.compressEnd(to, room));
  }

  free(): void {
    this.#state.delete();
  }
}

/** Decodes frames block by block: memory is bounded by the window, at most 128 MiB. */
export class ZstdBlocks {
  readonly #state: State = new (library().zstd)();

  reset(): void {
    this.#state.reset();
  }

  /** The content of a block; the first comes with the frame's header. Empty if either is damaged. */
  decode(bytes: Uint8Array): Buffer {
    return run(bytes, zstdBlockBytesMax, (...place) => this.#state.decompressChunk(...place));
  }

  free(): void {
    this.#state.delete();
  }
}
