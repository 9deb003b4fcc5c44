import { createHash } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { access, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PassThrough, type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorCode } from '../base/errors/system-error.ts';
import { syncDirectory } from '../base/files/durable-file.ts';
import { compressionOfName, createFileCompressor } from './compress.ts';
import { counted, type JsonOption, type Output, printJson } from './output.ts';

export interface WrittenFile {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Writes a temporary file (mode 0600) and renames it when complete; compressed by its name. */
export async function writeWhole(file: string, content: Readable): Promise<WrittenFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  const counting = new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece);
      bytes += piece.length;
      done(null, piece);
    },
  });
  const partial = `${file}.${process.pid}.tmp`;
  const compressor = createFileCompressor(compressionOfName(file)) ?? new PassThrough();
  try {
    await pipeline(content, compressor, counting, createWriteStream(partial, { mode: 0o600, flush: true }));
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  await syncDirectory(dirname(file));
  return { file, bytes, sha256: hash.digest('hex') };
}

export function reportFile(
  deps: Output,
  { json }: JsonOption,
  written: WrittenFile & { readonly rows: number },
): void {
  const { file, rows, bytes, sha256 } = written;
  if (json === true) printJson(deps, 'CliExport', { file, rows, bytes, sha256 });
  else deps.io.error(`${counted(rows, 'event')} in ${file}, ${bytes} bytes, SHA-256 ${sha256}\n`);
}

/** A closed pipe is no error. */
export async function toOutput(
  events: AsyncIterable<Uint8Array>,
  output: NodeJS.WritableStream,
): Promise<void> {
  try {
    await pipeline(events, output, { end: false });
  } catch (error) {
    if (errorCode(error) !== 'EPIPE') throw error;
  }
}

/** Throws, with file and reason, before any work. */
export async function checkOutputFile(path: string, kind: 'file' | 'directory' = 'file'): Promise<void> {
  const directory = dirname(path);
  if (!(await isDirectory(directory)))
    throw new Error(`cannot write ${path}: the directory ${directory} does not exist`);
  if (kind === 'file' && (await isDirectory(path)))
    throw new Error(`cannot write ${path}: it is a directory`);
  try {
    await access(directory, constants.W_OK);
  } catch (error) {
    throw new Error(`cannot write ${path}: this user may not write in ${directory}`, { cause: error });
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
}
