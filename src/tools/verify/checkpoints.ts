import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../base/errors/problem.ts';
import { fileErrorWords } from '../../base/errors/system-error.ts';
import type { TreeHead } from '../../tlog/checkpoint.ts';
import { NoteError, publicKeyIn } from '../../tlog/note.ts';
import { type PublishedKey, Trust } from '../../tlog/trust.ts';
import { limits } from '../limits.ts';
import { forkFinding, type Report } from './report.ts';

export interface TrustOptions {
  readonly key?: readonly string[];
  readonly checkpoint?: readonly string[];
  readonly copy?: string;
}

interface GivenKeys {
  readonly keys: readonly string[];
  /** Published by a service: trusted only if another trusted key signed for it. */
  readonly published: readonly { readonly service: string; readonly keys: readonly PublishedKey[] }[];
}

const readText = (path: string): Promise<string> => readFile(path, 'utf8');

/** An unreadable file is wrong usage, not a fault of the events. */
export async function readable<T>(
  path: string,
  read: (path: string) => Promise<T>,
  what: string,
): Promise<T> {
  try {
    return await read(path);
  } catch (error) {
    // Errors of reading a directory have no path.
    const named = error instanceof Error && !('path' in error) ? Object.assign(error, { path }) : error;
    const words = fileErrorWords(named);
    throw words === undefined ? error : new Problem('malformed', `${what}: ${words}`);
  }
}

async function keysIn(given: readonly string[] = []): Promise<GivenKeys> {
  const what = '--key takes a key (name+id+key) or a file of keys';
  const texts = await Promise.all(
    given.map(async (one) => (one.includes('+') ? one : readable(one, readText, what))),
  );
  const [answers, lists] = [true, false].map((is) => texts.filter((text) => text.startsWith('{') === is));
  const keys = (lists ?? []).flatMap((text) => text.split('\n')).map((line) => line.trim());
  return { keys: keys.filter((line) => line !== ''), published: (answers ?? []).map(publishedIn) };
}

function publishedIn(text: string): GivenKeys['published'][number] {
  const { origin, keys } = parseKeys(text);
  if (typeof origin !== 'string' || !Array.isArray(keys))
    throw new Problem('malformed', 'a file of keys must be lines or an answer of …/evidence/key');
  return {
    service: origin.slice(0, Math.max(0, origin.lastIndexOf('/'))),
    keys: (keys as Partial<Record<'key' | 'statement', unknown>>[]).map(({ key, statement }) => ({
      publicKey: publicKeyIn(String(key)),
      statement: typeof statement === 'string' ? statement : '',
    })),
  };
}

function parseKeys(text: string): Partial<Record<'origin' | 'keys', unknown>> {
  try {
    return JSON.parse(text) as Partial<Record<'origin' | 'keys', unknown>>;
  } catch {
    return {};
  }
}

export async function readTrust(options: TrustOptions): Promise<Trust | undefined> {
  const { keys, published } = await keysIn(options.key);
  if (keys.length === 0) {
    if (published.length === 0) return undefined;
    throw new Problem(
      'malformed',
      'an answer of …/evidence/key alone proves nothing: also give a key that you trust',
    );
  }
  const trust = new Trust(keys);
  for (const one of published) trust.follow(one.service, one.keys);
  return trust;
}

interface CheckpointFile {
  readonly path: string;
  readonly text: string;
}

/** Checkpoints from files, directories of files, or kept trees (`verify --keep`). */
export async function checkpointFiles(
  given: readonly string[] | undefined,
  organization: string,
): Promise<CheckpointFile[]> {
  const files: CheckpointFile[] = [];
  for (const path of given ?? []) {
    const paths = await readable(path, (one) => pathsBelow(one, organization), '--checkpoint');
    if (files.length + paths.length > limits.verifyCheckpointsMax)
      throw new Problem('malformed', `more than ${limits.verifyCheckpointsMax} checkpoints: give fewer`);
    for (const one of paths) files.push({ path: one, text: await readable(one, readText, '--checkpoint') });
  }
  return files;
}

async function pathsBelow(path: string, organization: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const has = async (place: string, name: string): Promise<boolean> =>
    (await readdir(place, { withFileTypes: true })).some((one) => one.name === name && one.isDirectory());
  const ofTree = (await has(path, organization)) ? join(path, organization) : path;
  const directory = (await has(ofTree, 'checkpoints')) ? join(ofTree, 'checkpoints') : ofTree;
  const names = await readdir(directory);
  if (names.length > 0) return names.map((name) => join(directory, name));
  throw new Problem('malformed', `--checkpoint: ${directory} has no checkpoint`);
}

/** One of each size. */
export class Checkpoints {
  readonly #trust: Trust;
  readonly #heads = new Map<number, TreeHead>();
  readonly #findings: Report['findings'][number][] = [];
  readonly #sizeMax: number;
  #origin: string | undefined;

  /**
   * `origin`: the only accepted log; undefined: that of the first. Checkpoints above `sizeMax` are `newer`.
   */
  constructor(trust: Trust, origin?: string, sizeMax = Number.POSITIVE_INFINITY) {
    this.#trust = trust;
    this.#sizeMax = sizeMax;
    this.#origin = origin;
  }

  addFile({ path, text }: CheckpointFile): void {
    try {
      this.add(text);
    } catch (error) {
      throw error instanceof NoteError ? new NoteError(`${path}: ${error.message}`) : error;
    }
  }

  /** Throws a NoteError without a trusted signature, and an Error for another log. */
  add(text: string): void {
    const { origin, size, root } = this.#trust.read(text);
    this.#origin ??= origin;
    if (origin !== this.#origin)
      throw new NoteError(`the checkpoint belongs to ${origin}, not to ${this.#origin}`);
    const known = this.#heads.get(size);
    if (known === undefined) this.#heads.set(size, { origin, size, root });
    else if (Buffer.compare(known.root, root) !== 0) this.#findings.push(forkFinding(size));
  }

  get heads(): readonly TreeHead[] {
    return [...this.#heads.values()].filter(({ size }) => size <= this.#sizeMax);
  }

  get covered(): number {
    return Math.max(0, ...this.heads.map(({ size }) => size));
  }

  get newer(): number | undefined {
    const largest = Math.max(0, ...this.#heads.keys());
    return largest > this.#sizeMax ? largest : undefined;
  }

  get origin(): string {
    return this.#origin ?? '';
  }

  get findings(): readonly Report['findings'][number][] {
    return this.#findings;
  }
}
