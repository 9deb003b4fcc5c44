import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { replaceFile } from '../base/durable-file.ts';
import { AppendFile } from '../base/append-file.ts';
import type { ImportChunk } from './import-chunks.ts';
import type { RejectedLine, SentChunk } from './import-send.ts';
import type { ImportSource } from './import-source.ts';
import { limits } from './limits.ts';
import { readState } from './state-file.ts';

/** How far an import has come: the service has answered for everything before `offset`. */
export interface ImportPosition {
  /** Bytes of the text, decompressed. */
  readonly offset: number;
  readonly nextLine: number;
  readonly accepted: number;
  readonly rejected: number;
}

/** Identifies the text of a checkpoint by its first bytes, which stay the same while the file grows. */
interface ImportIdentity {
  readonly headBytes: number;
  readonly headSha256: string;
}

interface Checkpoint extends ImportPosition, ImportIdentity {
  readonly version: 1;
  /** Length of the file of rejected lines at this position. */
  readonly rejectedBytes: number;
}

export interface ImportPaths {
  /** Undefined: no checkpoint, as for standard input. */
  readonly checkpoint: string | undefined;
  readonly rejected: string;
}

const start: ImportPosition = { offset: 0, nextLine: 1, accepted: 0, rejected: 0 };

/**
 * What an import remembers. It syncs the rejected lines before the checkpoint that counts them, and the next run cuts
 * off those that came after it: so the file has each of them once.
 */
export class ImportState {
  /** Where to begin. */
  readonly first: ImportPosition;
  readonly #paths: ImportPaths;
  readonly #identity: ImportIdentity;
  /** Undefined while no line is rejected: there is no file then. */
  #rejected: AppendFile | undefined;
  #position: ImportPosition;
  #saved: ImportPosition | undefined;
  #savedMs = 0;

  private constructor(paths: ImportPaths, identity: ImportIdentity, saved: ImportPosition | undefined) {
    this.#paths = paths;
    this.#identity = identity;
    this.#saved = saved;
    this.first = saved ?? start;
    this.#position = this.first;
  }

  /** Continues what an earlier run left, or begins anew. Throws where the checkpoint is of another text. */
  static async open(source: ImportSource, paths: ImportPaths, restart: boolean): Promise<ImportState> {
    const known =
      paths.checkpoint === undefined || restart ? undefined : await readState<Checkpoint>(paths.checkpoint);
    const headBytesMax = source.path === undefined ? 0 : (known?.headBytes ?? limits.importHeadBytes);
    const identity = await identityOf(source, headBytesMax);
    if (known !== undefined && known.headSha256 !== identity.headSha256)
      throw new Error(
        `${paths.checkpoint} belongs to another file: remove it, or import from the beginning with --restart`,
      );
    const state = new ImportState(paths, identity, known);
    if (known === undefined || known.rejectedBytes === 0) await rm(paths.rejected, { force: true });
    else state.#rejected = await openRejected(paths.rejected, known.rejectedBytes);
    if (known === undefined) await state.#save();
    return state;
  }

  get position(): ImportPosition {
    return this.#position;
  }

  /** Tells this text from others. */
  get identity(): string {
    return this.#identity.headSha256;
  }

  /** Counts the next part of the text as done; durable after `importCheckpointMs`, or with `close`. */
  async advance({ end, nextLine }: ImportChunk, { accepted, rejected }: SentChunk): Promise<void> {
    if (rejected.length > 0) {
      this.#rejected ??= await AppendFile.open(this.#paths.rejected);
      await this.#rejected.append(Buffer.from(rejected.map(textOf).join('')));
    }
    const before = this.#position;
    this.#position = {
      offset: end,
      nextLine,
      accepted: before.accepted + accepted,
      rejected: before.rejected + rejected.length,
    };
    if (performance.now() - this.#savedMs >= limits.importCheckpointMs) await this.#save();
  }

  async close(): Promise<void> {
    try {
      if (this.#saved !== this.#position) await this.#save();
    } finally {
      await this.#rejected?.close();
    }
  }

  async #save(): Promise<void> {
    const position = this.#position;
    await this.#rejected?.sync();
    if (this.#paths.checkpoint !== undefined) {
      const rejectedBytes = this.#rejected?.bytes ?? 0;
      const checkpoint: Checkpoint = { version: 1, ...this.#identity, ...position, rejectedBytes };
      await replaceFile(this.#paths.checkpoint, `${JSON.stringify(checkpoint)}\n`);
    }
    this.#saved = position;
    this.#savedMs = performance.now();
  }
}

/** The SHA-256 of at most so many bytes from the beginning; without any, standard input is not read. */
async function identityOf(source: ImportSource, bytesMax: number): Promise<ImportIdentity> {
  const hash = createHash('sha256');
  let headBytes = 0;
  for await (const chunk of bytesMax === 0 ? [] : source.text(0)) {
    const part = chunk.subarray(0, bytesMax - headBytes);
    hash.update(part);
    headBytes += part.length;
    if (headBytes >= bytesMax) break;
  }
  return { headBytes, headSha256: hash.digest('hex') };
}

async function openRejected(path: string, keptBytes: number): Promise<AppendFile> {
  const file = await AppendFile.open(path);
  const { size } = await file.handle.stat();
  if (size < keptBytes) {
    await file.close();
    throw new Error(`${path} is shorter than the checkpoint says: import from the beginning with --restart`);
  }
  await file.truncate(keptBytes);
  return file;
}

function textOf({ line, error, bytes }: RejectedLine): string {
  return `${JSON.stringify({ line, error, text: bytes?.toString('utf8') })}\n`;
}
