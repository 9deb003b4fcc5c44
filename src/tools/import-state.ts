import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { replaceFile } from '../base/files/durable-file.ts';
import { AppendFile } from '../base/files/append-file.ts';
import type { ImportChunk } from './import-chunks.ts';
import type { RejectedLine, SentChunk } from './import-send.ts';
import type { ImportSource } from './import-source.ts';
import { limits } from './limits.ts';
import { readState } from './state-file.ts';

const importCheckpointMs = 1_000;

export interface ImportPosition {
  /** Bytes of the decompressed text. */
  readonly offset: number;
  readonly nextLine: number;
  readonly accepted: number;
  readonly rejected: number;
}

/** Identifies a text by its first bytes, which stay as the file grows. */
interface ImportIdentity {
  readonly headBytes: number;
  readonly headSha256: string;
}

/** The same text with another target or mapping is another import. */
export interface ImportSubject {
  readonly target: string;
  readonly mapping: string;
}

interface ImportCheckpoint extends ImportPosition, ImportIdentity, ImportSubject {
  readonly version: 1;
  readonly isWhole: boolean;
  readonly rejectedBytes: number;
}

export interface GivenPaths {
  readonly checkpoint?: string;
  readonly rejected?: string;
}

interface ImportPaths {
  /** Undefined: no checkpoint, as for standard input. */
  readonly checkpoint: string | undefined;
  readonly rejected: string;
}

export interface ImportStart {
  readonly source: ImportSource;
  readonly given: GivenPaths;
  readonly subject: ImportSubject;
  readonly restart: boolean;
}

const start: ImportPosition = { offset: 0, nextLine: 1, accepted: 0, rejected: 0 };

/**
 * Rejected lines are synced before the checkpoint that counts them; the next run cuts off later ones, so each
 * occurs once.
 */
export class ImportState {
  readonly first: ImportPosition;
  readonly rejectedPath: string;
  readonly note: string | undefined;
  readonly #checkpoint: string | undefined;
  readonly #identity: ImportIdentity & ImportSubject;
  #isWhole = false;
  /** Undefined until a line is rejected. */
  #rejected: AppendFile | undefined;
  #position: ImportPosition;
  /** Of an unfinished last line, which the next run reads again. */
  #left = { bytes: 0, lines: 0, rejectedBytes: 0 };
  #saved: ImportPosition | undefined;
  #savedMs = 0;

  private constructor(
    { checkpoint, rejected }: ImportPaths,
    identity: ImportIdentity & ImportSubject,
    { saved, note }: { readonly saved: ImportPosition | undefined; readonly note: string | undefined },
  ) {
    this.#checkpoint = checkpoint;
    this.rejectedPath = rejected;
    this.#identity = identity;
    this.#saved = saved;
    this.first = saved ?? start;
    this.#position = this.first;
    this.note = note;
  }

  /**
   * Continues an earlier run or starts anew. Throws if the checkpoint has another text or target, or if
   * another mapping recorded events.
   */
  static async open({ source, given, subject, restart }: ImportStart): Promise<ImportState> {
    const { paths, note: elsewhere } = await choosePaths(source, given, subject, restart);
    const { checkpoint, rejected } = paths;
    const left =
      checkpoint === undefined || restart ? undefined : await readState<ImportCheckpoint>(checkpoint);
    const headBytesMax = source.path === undefined ? 0 : (left?.headBytes ?? limits.importHeadBytes);
    const identity = await identify(source, headBytesMax);
    if (left !== undefined && left.headSha256 !== identity.headSha256)
      throw new Error(`${checkpoint} belongs to another file: remove it, or start anew with --restart`);
    const isOther = left !== undefined && isOfOther(left, subject, checkpoint);
    const known = isOther ? undefined : left;
    const note = isOther
      ? `Starting anew: with the mapping of the last run (${left.mapping}) no line was recorded.`
      : elsewhere;
    const state = new ImportState(paths, { ...identity, ...subject }, { saved: known, note });
    if (known === undefined || known.rejectedBytes === 0) await rm(rejected, { force: true });
    else state.#rejected = await openRejected(rejected, known.rejectedBytes);
    if (known === undefined) await state.#save();
    return state;
  }

  get position(): ImportPosition {
    return this.#position;
  }

  get identity(): string {
    return this.#identity.headSha256;
  }

  /** Durable after `importCheckpointMs`, or with `close`. */
  async advance(
    { end, nextLine, unfinishedBytes }: ImportChunk,
    { accepted, rejected }: SentChunk,
  ): Promise<void> {
    if (rejected.length > 0) {
      this.#rejected ??= await AppendFile.open(this.rejectedPath);
      await this.#rejected.append(Buffer.from(rejected.map(rejectedText).join('')));
    }
    const last = rejected.at(-1);
    if (unfinishedBytes > 0 && last?.line === nextLine - 1)
      this.#left = { bytes: unfinishedBytes, lines: 1, rejectedBytes: Buffer.byteLength(rejectedText(last)) };
    const before = this.#position;
    this.#position = {
      offset: end,
      nextLine,
      accepted: before.accepted + accepted,
      rejected: before.rejected + rejected.length,
    };
    if (performance.now() - this.#savedMs >= importCheckpointMs) await this.#save();
  }

  whole(): void {
    this.#isWhole = true;
  }

  async close(): Promise<void> {
    try {
      if (this.#saved !== this.#position || this.#isWhole) await this.#save();
    } finally {
      await this.#rejected?.close();
    }
  }

  async #save(): Promise<void> {
    const position = this.#position;
    await this.#rejected?.sync();
    if (this.#checkpoint !== undefined) {
      const { bytes, lines, rejectedBytes } = this.#left;
      const facts = {
        ...this.#identity,
        ...position,
        offset: position.offset - bytes,
        nextLine: position.nextLine - lines,
        rejected: position.rejected - lines,
        isWhole: this.#isWhole,
      };
      const checkpoint: ImportCheckpoint = {
        version: 1,
        ...facts,
        rejectedBytes: (this.#rejected?.bytes ?? 0) - rejectedBytes,
      };
      await replaceFile(this.#checkpoint, `${JSON.stringify(checkpoint)}\n`);
    }
    this.#saved = position;
    this.#savedMs = performance.now();
  }
}

/**
 * Given paths, otherwise `<file>.import.json` and `<file>.rejected.ndjson`, with eight digits of the target's
 * hash if another target has these.
 */
async function choosePaths(
  { path }: ImportSource,
  { checkpoint, rejected }: GivenPaths,
  { target }: ImportSubject,
  restart: boolean,
): Promise<{ readonly paths: ImportPaths; readonly note?: string }> {
  if (path === undefined)
    return { paths: { checkpoint: undefined, rejected: resolve(rejected ?? 'stdin.rejected.ndjson') } };
  const named = (mark: string): ImportPaths => ({
    checkpoint: resolve(checkpoint ?? `${path}.import${mark}.json`),
    rejected: resolve(rejected ?? `${path}.rejected${mark}.ndjson`),
  });
  if (checkpoint !== undefined) return { paths: named('') };
  const own = named(`-${createHash('sha256').update(target).digest('hex').slice(0, 8)}`);
  const known = ({ checkpoint: file = '' }: ImportPaths) =>
    readState<ImportCheckpoint>(file).catch((error: unknown) => {
      if (restart) return undefined;
      throw error;
    });
  if ((await known(own)) !== undefined) return { paths: own };
  const first = await known(named(''));
  if (first === undefined || first.target === target) return { paths: named('') };
  const note = `Starting anew for ${target}; an earlier run went to ${first.target}.`;
  return { paths: own, note };
}

/** Whether the earlier run had another mapping and recorded nothing. */
function isOfOther(left: ImportCheckpoint, { target, mapping }: ImportSubject, checkpoint = ''): boolean {
  if (left.target !== target)
    throw new Error(
      `${checkpoint} belongs to another target, ${left.target}: name another --checkpoint, ` +
        'or start anew with --restart',
    );
  if (left.mapping === mapping) return false;
  if (left.isWhole && left.accepted === 0) return true;
  throw new Error(
    `another mapping may have recorded events of this file (${left.mapping}; ${left.accepted} are known): ` +
      'continue with that mapping, or start anew with --restart, which records them a second time',
  );
}

/** SHA-256 of the first bytes, at most `bytesMax`. */
async function identify(source: ImportSource, bytesMax: number): Promise<ImportIdentity> {
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
    throw new Error(`${path} is shorter than its checkpoint; start anew with --restart`);
  }
  await file.truncate(keptBytes);
  return file;
}

function rejectedText({ line, error, bytes }: RejectedLine): string {
  return `${JSON.stringify({ line, error, text: bytes?.toString('utf8') })}\n`;
}
