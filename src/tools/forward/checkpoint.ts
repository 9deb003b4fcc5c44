import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { replaceFile } from '../../base/files/durable-file.ts';
import { Problem } from '../../base/errors/problem.ts';
import { ifThere } from '../../base/errors/system-error.ts';
import type { EventFilter, EventSchema } from '../../client/client.ts';
import { checkOutputFile } from '../output-file.ts';
import { readState } from '../state-file.ts';
import type { Position } from './batch.ts';
import { type FileState, orTransient } from './sink.ts';

export interface CheckpointState {
  readonly position: Position | undefined;
  readonly file: FileState | undefined;
}

/** Identifies the source and filters: continuing with others would omit events. */
export interface CheckpointSubject {
  readonly url: string;
  readonly filter: EventFilter;
  readonly schema: EventSchema;
}

interface Stored extends CheckpointState {
  readonly version: 1;
  readonly stream: string;
  readonly subject: string;
}

/** Each save replaces the file atomically and syncs it. Without a path it saves nothing. */
export class ForwardCheckpoint {
  readonly stored: Stored;
  readonly #path: string | undefined;
  readonly #temporary: string;
  #mark: string | undefined;

  private constructor(path: string | undefined, stored: Stored) {
    this.#path = path;
    this.#temporary = `${path}.${randomUUID().slice(0, 8)}.tmp`;
    this.stored = stored;
  }

  /** The checkpoint at a path, or a new one. Throws Problem `malformed` if source or filters differ. */
  static async open(given: string | undefined, of: CheckpointSubject): Promise<ForwardCheckpoint> {
    const path = given === undefined ? undefined : resolve(given);
    if (path !== undefined) await checkOutputFile(path);
    const known = path === undefined ? undefined : await readState<Stored>(path);
    const fresh = { version: 1, stream: randomUUID(), subject: subjectText(of) } as const;
    const stored = known ?? { ...fresh, position: undefined, file: undefined };
    if (stored.subject !== fresh.subject)
      throw new Problem(
        'malformed',
        `${path} belongs to another --url, --schema or other filters: ${stored.subject}`,
      );
    const checkpoint = new ForwardCheckpoint(path, stored);
    if (path !== undefined) checkpoint.#mark = await fileMark(path);
    return checkpoint;
  }

  async save({ position, file }: CheckpointState): Promise<void> {
    const path = this.#path;
    if (path === undefined) return;
    if ((await fileMark(path)) !== this.#mark)
      throw new Error(`another process writes the checkpoint ${path}`);
    const content = { ...this.stored, updated: new Date().toISOString(), position, file };
    await orTransient(replaceFile(path, `${JSON.stringify(content)}\n`, this.#temporary));
    this.#mark = await fileMark(path);
  }
}

function subjectText({ url, filter, schema }: CheckpointSubject): string {
  const form = schema === 'default' ? {} : { schema };
  const given = Object.entries({ ...filter, ...form }).filter(([, value]) => value !== undefined);
  return JSON.stringify([url, ...given.sort(([a], [b]) => a.localeCompare(b))]);
}

/** Changes with every save of any process; undefined without a file. */
async function fileMark(path: string): Promise<string | undefined> {
  const facts = await ifThere(stat(path, { bigint: true }));
  return facts && `${facts.ino} ${facts.mtimeNs}`;
}
