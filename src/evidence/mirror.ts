import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeDirectories, namesIn, readIfThere, replaceFile } from '../base/files/durable-file.ts';
import { type Checkpoint, parseCheckpoint } from '../tlog/checkpoint.ts';
import { toBundle } from '../tlog/entry.ts';
import { hashesAtLevel, levelsOf, tilePath, tileWidth, widthIn } from '../tlog/tile.ts';
import type { StoredCheckpoint } from './checkpoint-table.ts';
import { limits } from './limits.ts';
import type { TileTable } from './tile-table.ts';
import { TreeReader } from './tree-reader.ts';
import { hashesOf } from './tree.ts';

/** The tree in the engine does not continue the one that was copied before. */
export class MirrorContradiction extends Error {
  readonly organization: string;

  constructor(organization: string, words: string) {
    super(words);
    this.name = 'MirrorContradiction';
    this.organization = organization;
  }
}

/**
 * A copy of all trees in files, in the layout of C2SP tlog-tiles, where the operator of the engine alone cannot take it
 * back: another disk, a mounted bucket, a repository.
 *
 *     EVIDENCE_DIR/<organization id>/checkpoint           the newest
 *                                    checkpoints/000…300  each that was copied, by its number of events
 *                                    tile/…               full tiles and bundles of entries, and of those that are
 *                                                         partial what the newest two checkpoints need
 *
 * What is there says how far a copy has come, so one that was away is continued. A file that is there is never changed,
 * but for the newest checkpoint, and that only for one that continues it. A partial tile is removed when there is a wider
 * one: C2SP tlog-tiles has readers take the full one in its place.
 */
export class Mirror {
  readonly #directory: string;
  readonly #tiles: TileTable;
  readonly #reader: TreeReader;

  constructor(directory: string, tiles: TileTable) {
    this.#directory = directory;
    this.#tiles = tiles;
    this.#reader = new TreeReader(tiles);
  }

  /** Copies what a checkpoint covers. Rejects with MirrorContradiction, EngineError, or the error of a file. */
  async copy({ organization, size, text }: StoredCheckpoint): Promise<void> {
    const before = await this.#copied(organization);
    const from = before?.size ?? 0;
    if (before !== undefined) await this.#holdTo(organization, before, size);
    if (from >= size) return;
    for (let level = 0; level < levelsOf(size); level++) {
      const first = Math.floor(hashesAtLevel(level, from) / tileWidth);
      const last = Math.ceil(hashesAtLevel(level, size) / tileWidth);
      for (let index = first; index < last; index += limits.mirrorTilesAtOnce)
        await this.#copyTiles(
          organization,
          { level, index, end: Math.min(last, index + limits.mirrorTilesAtOnce) },
          size,
        );
    }
    // Before the checkpoint is replaced: until then this is done again, from the same place.
    for (let level = 0; level < levelsOf(from); level++)
      await this.#removePartial(organization, level, { before: from, size });
    const name = String(size).padStart(16, '0');
    await this.#write(organization, join('checkpoints', name), text);
    await this.#write(organization, 'checkpoint', text);
  }

  async #copied(organization: string): Promise<Checkpoint | undefined> {
    const text = await readIfThere(join(this.#directory, organization, 'checkpoint'));
    return text === undefined ? undefined : parseCheckpoint(text);
  }

  async #holdTo(organization: string, before: Checkpoint, size: number): Promise<void> {
    if (before.size > size)
      throw new MirrorContradiction(
        organization,
        `the copy in EVIDENCE_DIR has a checkpoint of ${before.size} events, the engine one of ${size}`,
      );
    const root = await this.#reader.root(organization, before.size);
    if (root === undefined || Buffer.compare(root, before.root) !== 0)
      throw new MirrorContradiction(
        organization,
        `the first ${before.size} events are not those that the checkpoint in EVIDENCE_DIR was signed for`,
      );
  }

  async #copyTiles(
    organization: string,
    { level, index: from, end }: { readonly level: number; readonly index: number; readonly end: number },
    size: number,
  ): Promise<void> {
    const wanted = Array.from({ length: end - from }, (_, n) => ({ level, index: from + n }));
    const found = await this.#tiles.get(organization, wanted);
    // A lost part of the table must not make a copy that seems to be whole.
    if (found.length < wanted.length || found.some((tile) => tile.width < widthIn(tile, size)))
      throw new Error(`the tree has fewer events than its checkpoint: ${organization} cannot be copied`);
    for (const tile of found) {
      const width = widthIn(tile, size);
      const content = tile.content.subarray(0, (tile.content.length / tile.width) * width);
      const resource = { level, index: tile.index, width };
      await this.#write(
        organization,
        tilePath({ ...resource, kind: 'hashes' }),
        hashesOf({ level, width, content }),
      );
      if (level === 0)
        await this.#write(organization, tilePath({ ...resource, kind: 'entries' }), toBundle(content));
    }
  }

  /** Takes away what the copy before had of its last tile of a level, and does not need any more. */
  async #removePartial(
    organization: string,
    level: number,
    { before, size }: { readonly before: number; readonly size: number },
  ): Promise<void> {
    const index = Math.floor(hashesAtLevel(level, before) / tileWidth);
    const tile = { level, index };
    const needed = [before, size].map((one) => widthIn(tile, one));
    const isFull = needed.includes(tileWidth);
    for (const kind of level === 0 ? (['hashes', 'entries'] as const) : (['hashes'] as const)) {
      const directory = dirname(join(this.#directory, organization, tilePath({ ...tile, kind, width: 1 })));
      if (isFull) await rm(directory, { recursive: true, force: true });
      else
        for (const name of await namesIn(directory))
          if (!needed.includes(Number(name))) await rm(join(directory, name), { force: true });
    }
  }

  async #write(organization: string, name: string, content: string | Buffer): Promise<void> {
    const path = join(this.#directory, organization, name);
    await makeDirectories(dirname(path));
    await replaceFile(path, content);
  }
}
