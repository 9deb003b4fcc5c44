import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere } from '../../base/files/durable-file.ts';
import { parseCheckpoint } from '../../tlog/checkpoint.ts';
import { entryAt, entryBytes, fromBundle } from '../../tlog/entry.ts';
import { ifThere } from '../../base/errors/system-error.ts';
import { tilePath, tileWidth, widthIn } from '../../tlog/tile.ts';
import { limits } from '../limits.ts';
import { findingAt, type Report } from './report.ts';

/** Checkpoints of a copy to compare: its entries locate a change, so few suffice. */
const verifyCopyCheckpointsMax = 1_000;

type Finding = Report['findings'][number];

const chunkEntries = limits.verifyTilesAtOnce * tileWidth;
export const organizationPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * A tree kept by `verify --keep`, out of reach of anyone who can change the engine; trusted as far as trusted
 * checkpoints cover it.
 */
export class TreeCopy {
  readonly #directory: string;
  readonly size: number;

  private constructor(directory: string, size: number) {
    this.#directory = directory;
    this.size = size;
  }

  /** `directory` has the trees of all organizations, or of this one. */
  static async open(directory: string, organization: string): Promise<TreeCopy> {
    const ofAll = organizationPattern.test(organization) ? [join(directory, organization)] : [];
    for (const place of [...ofAll, directory]) {
      const newest = await readIfThere(join(place, 'checkpoint'));
      if (newest !== undefined) return new TreeCopy(place, parseCheckpoint(newest).size);
    }
    throw new Error(`${directory} has no kept tree of ${organization}: it has no checkpoint`);
  }

  /** Checkpoints of up to `sizeMax` events: the newest, and others spread evenly before it. */
  async checkpoints(sizeMax = this.size): Promise<string[]> {
    const all = (await readdir(join(this.#directory, 'checkpoints'))).toSorted();
    const names = all.filter((name) => Number(name) <= sizeMax);
    const step = Math.ceil(names.length / verifyCopyCheckpointsMax);
    const chosen = names.filter((_, index) => (names.length - 1 - index) % step === 0);
    const paths = chosen.map((name) => join(this.#directory, 'checkpoints', name));
    return Promise.all(paths.map((path) => readFile(path, 'utf8')));
  }

  async entries(firstTile: number, tiles: number): Promise<Buffer> {
    const end = Math.min(firstTile + tiles, Math.ceil(this.size / tileWidth));
    const wanted = Array.from({ length: Math.max(0, end - firstTile) }, (_, n) => firstTile + n);
    return Buffer.concat(await Promise.all(wanted.map((index) => this.#bundle(index))));
  }

  async #bundle(index: number): Promise<Buffer> {
    const width = widthIn({ level: 0, index }, this.size);
    const pathOf = (wide: number) =>
      join(this.#directory, tilePath({ kind: 'entries', level: 0, index, width: wide }));
    const path = pathOf(width);
    // A running `--keep` replaces the partial bundle by the full one.
    const bundle = (await ifThere(readFile(path))) ?? (await readFile(pathOf(tileWidth)));
    const entries = fromBundle(bundle).subarray(0, width * entryBytes);
    if (entries.length === width * entryBytes) return entries;
    throw new Error(`${path} has ${entries.length / entryBytes} entries and not ${width}`);
  }
}

export class CopyAudit {
  readonly #copy: TreeCopy;
  readonly #kind: 'altered' | 'contradicted';
  readonly #what: string;
  #position = 0;
  #chunk: Buffer = Buffer.alloc(0);
  #finding: Finding | undefined;

  /** `kind` of a difference; `what` names the source of the entries: "the file". */
  constructor(copy: TreeCopy, kind: 'altered' | 'contradicted', what: string) {
    this.#copy = copy;
    this.#kind = kind;
    this.#what = what;
  }

  get findings(): readonly Finding[] {
    return this.#finding === undefined ? [] : [this.#finding];
  }

  async add(entry: Buffer): Promise<void> {
    const place = this.#position % chunkEntries;
    if (place === 0)
      this.#chunk = await this.#copy.entries(this.#position / tileWidth, limits.verifyTilesAtOnce);
    const at = place * entryBytes;
    this.compare(entry, this.#chunk.subarray(at, at + entryBytes), this.#position);
    this.#position += 1;
  }

  compare(entries: Buffer, copied: Buffer, position: number): void {
    if (this.#finding !== undefined || entries.subarray(0, copied.length).equals(copied)) return;
    let at = 0;
    const isSame = (): boolean =>
      entries.subarray(at, at + entryBytes).equals(copied.subarray(at, at + entryBytes));
    while (isSame()) at += entryBytes;
    const index = at / entryBytes;
    const words =
      at < entries.length
        ? `has different entries in ${this.#what} and in the copy`
        : `is in the copy, but not in ${this.#what}`;
    this.#finding = findingAt(this.#kind, position + index, entryAt(copied, index), words);
  }
}
