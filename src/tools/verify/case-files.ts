import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isZip, unzip } from '../../base/bytes/zip.ts';
import { Problem } from '../../base/errors/problem.ts';
import { errorCode } from '../../base/errors/system-error.ts';
import { caseFiles, type CaseHead, type CaseProof } from '../../tlog/case.ts';
import { NoteError } from '../../tlog/note.ts';
import { readable } from './checkpoints.ts';

/** The service makes less of 32 MiB of events. */
const caseBytesMax = 256 * 1024 * 1024;

/** The files of a case, in a .zip or in a directory where it was unpacked; undefined for anything else. */
export async function filesOfCase(path: string): Promise<ReadonlyMap<string, Buffer> | undefined> {
  const isDirectory = await stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
  if (isDirectory) return readDirectory(path);
  if (!path.endsWith('.zip')) return undefined;
  const bytes = await readable(path, (one) => readFile(one), 'the case file');
  if (!isZip(bytes)) return undefined;
  return unzip(bytes, caseBytesMax).catch((error: unknown) => {
    throw new NoteError(error instanceof Error ? error.message : String(error));
  });
}

async function readDirectory(path: string): Promise<ReadonlyMap<string, Buffer> | undefined> {
  const files = new Map<string, Buffer>();
  for (const name of Object.values(caseFiles)) {
    const bytes = await readFile(join(path, name)).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (bytes !== undefined) files.set(name, bytes);
  }
  return files.has(caseFiles.head) ? files : undefined;
}

export function neededFile(files: ReadonlyMap<string, Buffer>, name: string): Buffer {
  const bytes = files.get(name);
  if (bytes === undefined) throw new Problem('malformed', `the case has no ${name}`);
  return bytes;
}

const isText = (value: unknown): value is string => typeof value === 'string';

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Throws a NoteError for anything else. */
export function caseHead(bytes: Buffer): Pick<CaseHead, 'origin' | 'places'> {
  const { auditlog_case: kind, origin, places } = parsed(bytes.toString()) ?? {};
  const isWhole = kind === 1 && isText(origin) && Array.isArray(places) && places.every(Number.isSafeInteger);
  if (!isWhole) throw new NoteError(`${caseFiles.head} is not as the service writes it`);
  return { origin, places: places as number[] };
}

export function caseProof(line: string): CaseProof | undefined {
  const value = parsed(line);
  const texts = ['entry', 'source', 'shown', 'proof', 'rendering', 'columns'];
  if (value === undefined || !texts.every((name) => isText(value[name]))) return undefined;
  return value as unknown as CaseProof;
}
