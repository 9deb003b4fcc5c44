import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readIfThere, replaceFile } from '../../base/durable-file.ts';
import { Problem } from '../../base/problem.ts';
import { errorCode } from '../../base/system-error.ts';
import type { EventFilter } from '../../client/client.ts';
import type { KnownEvent, Position } from './batch.ts';
import { orTransient } from './durable.ts';
import type { FileState } from './sink.ts';

/** What is remembered between runs. */
export interface CheckpointState {
  readonly position: Position | undefined;
  readonly file: FileState | undefined;
}

export interface Checkpoint extends CheckpointState {
  /** Of this checkpoint as long as it lives. */
  readonly stream: string;
  save(state: CheckpointState): Promise<void>;
}

/** What a checkpoint is of: going on with another source or other filters would leave events out. */
export interface CheckpointSubject {
  readonly url: string;
  readonly filter: EventFilter;
}

const version = 1;

function isKnown(value: unknown): value is KnownEvent[] {
  return Array.isArray(value) && value.every((one) => Array.isArray(one) && typeof one[1] === 'string');
}

function readPosition(value: unknown): Position | undefined {
  const given = value as { readonly [name: string]: unknown } | null | undefined;
  if (given === undefined || given === null) return undefined;
  const { mode, cursor, through, knownFrom, known } = given;
  if (mode === 'feed' && typeof cursor === 'string') return { mode, cursor };
  if (mode === 'pages' && typeof knownFrom === 'number' && isKnown(known))
    return { mode, through: typeof through === 'number' ? through : undefined, knownFrom, known };
  throw new Error('no position');
}

function readFileState(value: unknown): FileState | undefined {
  const { path, inode, bytes } = (value ?? {}) as { readonly [name: string]: unknown };
  if (typeof path !== 'string' || typeof inode !== 'number' || typeof bytes !== 'number') return undefined;
  return { path, inode, bytes };
}

/** Sorted and without what is not given, so that it can be compared as text. */
function subjectText({ url, filter }: CheckpointSubject): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  return JSON.stringify([url, ...given.sort(([a], [b]) => a.localeCompare(b))]);
}

interface Loaded extends CheckpointState {
  readonly stream: string;
  readonly subject: string;
}

async function load(path: string): Promise<Loaded | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  try {
    const given = JSON.parse(text) as { readonly [name: string]: unknown };
    const { stream, subject } = given;
    if (given['version'] !== version || typeof stream !== 'string' || typeof subject !== 'string')
      throw new Error('not a checkpoint');
    return { stream, subject, position: readPosition(given['position']), file: readFileState(given['file']) };
  } catch {
    throw new Error(`${path} is not a checkpoint of this version`);
  }
}

/** Changes with every save, whoever does it; undefined while there is no file. Inodes alone come into use again. */
async function fileMark(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeNs } = await stat(path, { bigint: true });
    return `${ino} ${mtimeNs}`;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The checkpoint at a path, or a new one. Without a path nothing is remembered. Each save replaces the file whole and
 * synced, so a crash leaves the one before. Throws Problem `malformed` for one of another source or other filters.
 */
export async function openCheckpoint(
  given: string | undefined,
  subject: CheckpointSubject,
): Promise<Checkpoint> {
  if (given === undefined)
    return { stream: randomUUID(), position: undefined, file: undefined, save: async () => {} };
  const path = resolve(given);
  const loaded = await load(path);
  const ours = subjectText(subject);
  if (loaded !== undefined && loaded.subject !== ours)
    throw new Problem('malformed', `${path} belongs to another --url or other filters: ${loaded.subject}`);
  const stream = loaded?.stream ?? randomUUID();
  let last = await fileMark(path);
  // Of this run alone: another may be at the same checkpoint, which is found out with the next save.
  const temporary = `${path}.${randomUUID().slice(0, 8)}.tmp`;

  async function save({ position, file }: CheckpointState): Promise<void> {
    if ((await fileMark(path)) !== last) throw new Error(`another process writes the checkpoint ${path}`);
    const content = { version, stream, subject: ours, updated: new Date().toISOString(), position, file };
    await orTransient(replaceFile(path, `${JSON.stringify(content)}\n`, temporary));
    last = await fileMark(path);
  }

  return { stream, position: loaded?.position, file: loaded?.file, save };
}
