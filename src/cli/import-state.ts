import { type FileHandle, open, rm } from 'node:fs/promises';
import { readIfThere, replaceFile } from '../base/durable-file.ts';
import { limits } from './limits.ts';
import type { RejectedLine } from './import-send.ts';

/** How far an import has come: everything before `offset` was answered, nothing after it is counted. */
export interface ImportPosition {
  /** Bytes of the text, decompressed. */
  readonly offset: number;
  readonly nextLine: number;
  readonly accepted: number;
  readonly rejected: number;
}

/** What tells the text of a checkpoint from another one. */
interface ImportIdentity {
  readonly headBytes: number;
  readonly headSha256: string;
}

interface Checkpoint extends ImportPosition, ImportIdentity {
  readonly version: 1;
  /** Length of the file of rejected lines at this position. */
  readonly rejectedBytes: number;
}

export interface ImportState {
  /** Where to begin. */
  readonly position: ImportPosition;
  /** Tells this text from others, and stays as it is while a file grows; empty where it cannot be known. */
  readonly identity: string;
  /** Takes the next part of the text as done; durable after a while, or with `close`. */
  advance(position: ImportPosition, rejected: readonly RejectedLine[]): Promise<void>;
  close(): Promise<void>;
}

export interface ImportStateOptions {
  /** Undefined: no checkpoint, as for standard input. */
  readonly checkpointPath: string | undefined;
  readonly rejectedPath: string;
  readonly restart: boolean;
  /** Of at most so many bytes of the text. Undefined where it cannot be read twice. */
  readonly headOf: ((bytesMax: number) => Promise<{ bytes: number; sha256: string }>) | undefined;
}

const start: ImportPosition = { offset: 0, nextLine: 1, accepted: 0, rejected: 0 };

async function readCheckpoint(path: string): Promise<Checkpoint | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  const checkpoint = JSON.parse(text) as Checkpoint;
  if (checkpoint.version !== 1) throw new Error(`${path} is not a checkpoint of this version`);
  return checkpoint;
}

/**
 * Opens what an earlier run has left, or begins anew. The rejected lines are synced before the checkpoint that counts
 * them, and those that came after it are cut off: each is there once. Throws where the text is another one.
 */
export async function openImportState(options: ImportStateOptions): Promise<ImportState> {
  const { checkpointPath, rejectedPath, headOf } = options;
  let checkpoint: Checkpoint | undefined;
  if (checkpointPath !== undefined && !options.restart) checkpoint = await readCheckpoint(checkpointPath);
  if (checkpoint !== undefined && headOf !== undefined) {
    const head = await headOf(checkpoint.headBytes);
    if (head.sha256 !== checkpoint.headSha256 || head.bytes !== checkpoint.headBytes) {
      throw new Error(
        `${checkpointPath} belongs to another file: remove it, or import from the beginning with --restart`,
      );
    }
  }
  const head = checkpoint === undefined ? await headOf?.(limits.importHeadBytes) : undefined;
  const identity = {
    headBytes: checkpoint?.headBytes ?? head?.bytes ?? 0,
    headSha256: checkpoint?.headSha256 ?? head?.sha256 ?? '',
  };
  const position: ImportPosition = checkpoint ?? start;
  const rejects = await openRejected(rejectedPath, checkpoint?.rejectedBytes ?? 0);
  let current = position;
  let saved = current;
  let savedMs = performance.now();

  const save = async (): Promise<void> => {
    await rejects.sync();
    if (checkpointPath === undefined) return;
    const { offset, nextLine, accepted, rejected } = current;
    const place = { offset, nextLine, accepted, rejected };
    await writeCheckpoint(checkpointPath, {
      version: 1,
      ...identity,
      ...place,
      rejectedBytes: rejects.bytes(),
    });
    saved = current;
    savedMs = performance.now();
  };
  if (checkpoint === undefined) await save();
  return {
    position,
    identity: identity.headSha256,
    async advance(next, rejected) {
      await rejects.add(rejected);
      current = next;
      if (performance.now() - savedMs >= limits.importCheckpointMs) await save();
    },
    async close() {
      try {
        if (saved !== current) await save();
      } finally {
        await rejects.close();
      }
    },
  };
}

async function writeCheckpoint(path: string, checkpoint: Checkpoint): Promise<void> {
  await replaceFile(path, `${JSON.stringify(checkpoint)}\n`);
}

/** The file of rejected lines, which exists only while there are some. */
async function openRejected(path: string, keptBytes: number) {
  let file: FileHandle | undefined;
  let bytes = keptBytes;
  if (keptBytes === 0) await rm(path, { force: true });
  else {
    file = await open(path, 'r+');
    const { size } = await file.stat();
    if (size < keptBytes) {
      await file.close();
      throw new Error(
        `${path} is shorter than the checkpoint says: import from the beginning with --restart`,
      );
    }
    await file.truncate(keptBytes);
  }
  return {
    bytes: () => bytes,
    async add(rejected: readonly RejectedLine[]): Promise<void> {
      if (rejected.length === 0) return;
      file ??= await open(path, 'w', 0o600);
      const lines = rejected.map(({ line, error, bytes: text }) =>
        JSON.stringify({ line, error, ...(text !== undefined && { text: text.toString('utf8') }) }),
      );
      const chunk = Buffer.from(`${lines.join('\n')}\n`);
      for (let at = 0; at < chunk.length; ) {
        at += (await file.write(chunk, at, chunk.length - at, bytes + at)).bytesWritten;
      }
      bytes += chunk.length;
    },
    async sync(): Promise<void> {
      await file?.datasync();
    },
    async close(): Promise<void> {
      await file?.close();
    },
  };
}
