import { Mutex } from '../base/waiting/keyed-mutex.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { TwoSlotFile } from '../base/files/two-slot-file.ts';
import { limits } from './limits.ts';
import { decodeManifest, encodeManifest, type Manifest, manifestBytes } from './manifest.ts';

/**
 * What is known of the log outside of its folder. The manifest is in the newest segment: were that taken away, nothing
 * in the folder could tell what else there was.
 *
 *     u64 newest | u32 closed | u32 0 | manifest
 *
 * The newest segment is one whose file is durable. It is written here before it takes its first append, and its file
 * goes only when a newer one is here: so a folder with no file of that number or above has lost some. The manifest
 * names what was in the log then; of the open segment it may tell too few rows, unless the log was closed.
 */
export interface Head {
  readonly newest: number;
  readonly isClosed: boolean;
  readonly manifest: Manifest;
}

const headerBytes = 16;
/** The open segment is named beside those that wait. */
export const headBytesMax = headerBytes + manifestBytes(limits.walManifestSegmentsMax + 1);

export function encodeHead({ newest, isClosed, manifest }: Head): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeBigUInt64LE(BigInt(newest), 0);
  header.writeUInt32LE(isClosed ? 1 : 0, 8);
  return Buffer.concat([header, encodeManifest(manifest)]);
}

/** Undefined when these bytes are none. */
export function decodeHead(bytes: Buffer): Head | undefined {
  if (bytes.length < headerBytes) return undefined;
  const manifest = decodeManifest(bytes.subarray(headerBytes));
  if (manifest === undefined) return undefined;
  return {
    newest: Number(bytes.readBigUInt64LE(0)),
    isClosed: bytes.readUInt32LE(8) === 1,
    manifest,
  };
}

/** Outside of the log's folder. */
export type HeadFile = Pick<TwoSlotFile, 'read' | 'write' | 'remove'>;

interface LogHeadDeps {
  readonly file: HeadFile;
  readonly log: Logger;
  /** What is in the log now, the open segment included. */
  readonly manifest: () => Manifest;
}

/** Keeps the head of a log that is open. */
export class LogHead {
  readonly #deps: LogHeadDeps;
  readonly #turns = new Mutex();
  #newest = 0;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: LogHeadDeps) {
    this.#deps = deps;
  }

  /** Resolves when the head names a segment whose file is durable: only then may it take appends. */
  begun(number: number): Promise<void> {
    this.#newest = Math.max(this.#newest, number);
    return this.#write();
  }

  /** Tells the head soon that there is more, or less, in the log. Nobody waits for that. */
  note(): void {
    if (this.#isClosed || this.#newest === 0) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#write().catch((error: unknown) => this.#warn(error));
    }, limits.walHeadMsMax).unref();
  }

  /** The last word of a log that takes no more appends. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (this.#newest > 0) await this.#write().catch((error: unknown) => this.#warn(error));
  }

  #write(): Promise<void> {
    return this.#turns.run(() => {
      const { file, manifest } = this.#deps;
      return file.write(encodeHead({ newest: this.#newest, isClosed: this.#isClosed, manifest: manifest() }));
    });
  }

  #warn(error: unknown): void {
    const words = 'what is in the log could not be noted beside it; the next segment is, or takes no events';
    this.#deps.log.warn(errorFacts(error), words);
  }
}
