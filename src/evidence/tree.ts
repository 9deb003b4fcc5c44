import { entryAt, entryBytes } from '../tlog/entry.ts';
import { leafHashes } from '../tlog/hash.ts';
import { RightEdge } from '../tlog/right-edge.ts';
import { tileWidth } from '../tlog/tile.ts';
import type { StoredTile } from './tile-table.ts';

/** A growing tree: its right edge, and its unsaved tiles. */
export class Tree {
  readonly organization: string;
  readonly #edge: RightEdge;
  readonly #entries = Buffer.alloc(tileWidth * entryBytes);
  #lastSeq = -1n;
  #full: StoredTile[] = [];
  #isChanged = false;

  /** `last`: the last tile of each level. Throws if they do not fit together. */
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

  get size(): number {
    return this.#edge.size;
  }

  get lastSeq(): bigint {
    return this.#lastSeq;
  }

  root(): Uint8Array {
    return this.#edge.root();
  }

  /** Throws unless order numbers rise above the last. Tiles keep views of `entries` until `takeChanged`. */
  add(entries: Buffer, leaves: Buffer): void {
    if (entries.length === 0) return;
    const { seq } = entryAt(entries, 0);
    if (seq <= this.#lastSeq) throw new Error(`Event ${seq} is not above event ${this.#lastSeq}`);
    this.#lastSeq = entryAt(entries, entries.length / entryBytes - 1).seq;
    this.#isChanged = true;
    // Offset in `entries` of the next tile; negative if the tile began earlier.
    const filled = this.size % tileWidth;
    let tileStart = -filled;
    this.#edge.addAll(leaves, ({ level, index, width, hashes }) => {
      const content = level > 0 ? Buffer.from(hashes) : this.#entriesFrom(entries, tileStart);
      if (level === 0) tileStart += tileWidth;
      this.#full.push(this.#tile(level, index, width, content));
    });
    const left = this.size % tileWidth;
    if (tileStart < 0) entries.copy(this.#entries, filled * entryBytes);
    else entries.copy(this.#entries, 0, tileStart * entryBytes, (tileStart + left) * entryBytes);
  }

  #entriesFrom(entries: Buffer, place: number): Buffer {
    if (place >= 0) return entries.subarray(place * entryBytes, (place + tileWidth) * entryBytes);
    entries.copy(this.#entries, -place * entryBytes, 0, (tileWidth + place) * entryBytes);
    return Buffer.from(this.#entries);
  }

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

export function hashesOf({ level, content, width }: Pick<StoredTile, 'level' | 'content' | 'width'>): Buffer {
  if (level > 0) return content;
  return leafHashes(content.subarray(0, width * entryBytes), entryBytes);
}
