import { entryAt, entryBytes } from '../tlog/entry.ts';
import { leafHashes } from '../tlog/hash.ts';
import { RightEdge } from '../tlog/right-edge.ts';
import { tileWidth } from '../tlog/tile.ts';
import type { StoredTile } from './tile-table.ts';

/** The tree of an organization while it grows: its right edge, and what of it has yet to be stored. */
export class Tree {
  readonly organization: string;
  readonly #edge: RightEdge;
  /** Entries of the last tile of level 0. */
  readonly #entries = Buffer.alloc(tileWidth * entryBytes);
  #lastSeq = -1n;
  #full: StoredTile[] = [];
  #isChanged = false;

  /** The tree that these tiles, the last of each level, are the edge of. Throws where they do not fit together. */
  constructor(organization: string, last: readonly StoredTile[] = []) {
    this.organization = organization;
    const lowest = last.find(({ level }) => level === 0);
    if (lowest === undefined) {
      this.#edge = new RightEdge();
      return;
    }
    const partial = last.map((tile) => ({ ...tile, hashes: hashesOf(tile) }));
    this.#edge = RightEdge.of(lowest.index * tileWidth + lowest.width, partial);
    this.#lastSeq = lowest.lastSeq;
    if (lowest.width < tileWidth) lowest.content.copy(this.#entries);
  }

  /** Events in the tree. */
  get size(): number {
    return this.#edge.size;
  }

  /** The order number of the last of them; -1 where there is none. */
  get lastSeq(): bigint {
    return this.#lastSeq;
  }

  root(): Uint8Array {
    return this.#edge.root();
  }

  /**
   * Adds the next events, whose order numbers rise; throws on one that is not behind the last. Tiles keep parts of
   * `entries` until they are taken.
   */
  add(entries: Buffer, leaves: Buffer): void {
    if (entries.length === 0) return;
    const { seq } = entryAt(entries, 0);
    if (seq <= this.#lastSeq) throw new Error(`the event ${seq} is not behind the event ${this.#lastSeq}`);
    this.#lastSeq = entryAt(entries, entries.length / entryBytes - 1).seq;
    this.#isChanged = true;
    // `taken` is the place in `entries` from which the next tile has them: below zero where some of its entries came earlier.
    const filled = this.size % tileWidth;
    let taken = -filled;
    this.#edge.addAll(leaves, ({ level, index, width, hashes }) => {
      const content = level > 0 ? Buffer.from(hashes) : this.#entriesFrom(entries, taken);
      if (level === 0) taken += tileWidth;
      this.#full.push(this.#tile(level, index, width, content));
    });
    const left = this.size % tileWidth;
    if (taken < 0) entries.copy(this.#entries, filled * entryBytes);
    else entries.copy(this.#entries, 0, taken * entryBytes, (taken + left) * entryBytes);
  }

  /** The entries of a tile that begins at a place of new ones; those before the first are here already. */
  #entriesFrom(entries: Buffer, place: number): Buffer {
    if (place >= 0) return entries.subarray(place * entryBytes, (place + tileWidth) * entryBytes);
    entries.copy(this.#entries, -place * entryBytes, 0, (tileWidth + place) * entryBytes);
    return Buffer.from(this.#entries);
  }

  /** The tiles that have to be stored since the last call. */
  takeChanged(): StoredTile[] {
    if (!this.#isChanged) return [];
    const highestFull = Math.max(-1, ...this.#full.map(({ level }) => level));
    // A tile above one that did not fill has not changed.
    const partial = this.#edge.partialTiles().filter(({ level }) => level <= highestFull + 1);
    const changed = [
      ...this.#full,
      ...partial.map(({ level, index, width, hashes }) => {
        const content = level === 0 ? Buffer.from(this.#entries.subarray(0, width * entryBytes)) : hashes;
        return this.#tile(level, index, width, content);
      }),
    ];
    this.#full = [];
    this.#isChanged = false;
    return changed;
  }

  #tile(level: number, index: number, width: number, content: Buffer): StoredTile {
    const [firstSeq, lastSeq] =
      level === 0 ? [entryAt(content, 0).seq, entryAt(content, width - 1).seq] : [0n, 0n];
    return { organization: this.organization, level, index, width, firstSeq, lastSeq, content };
  }
}

/** The hashes of a tile; those of level 0 are made of its entries. */
export function hashesOf({ level, content, width }: Pick<StoredTile, 'level' | 'content' | 'width'>): Buffer {
  if (level > 0) return content;
  return leafHashes(content.subarray(0, width * entryBytes), entryBytes);
}
