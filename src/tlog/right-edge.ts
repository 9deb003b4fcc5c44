import { foldHashes, hashBytes } from './hash.ts';
import { hashesAtLevel, hashInTile, countLevels, tileWith, type Tile, tileWidth, widthIn } from './tile.ts';
import { rangeHash } from './tree.ts';

export interface TileHashes extends Tile {
  readonly hashes: Buffer;
}

/**
 * The right edge of a growing tree: the partial tile of each level, some 8 KiB. It suffices to add leaves and
 * to compute the root.
 */
export class RightEdge {
  #size = 0;
  readonly #levels: Buffer[] = [];

  /** From the partial tiles of an existing tree. Throws if one does not fit the size. */
  static of(size: number, partial: readonly TileHashes[]): RightEdge {
    const edge = new RightEdge();
    for (let level = 0; level < countLevels(size); level++) {
      const index = Math.floor(hashesAtLevel(level, size) / tileWidth);
      const width = widthIn({ level, index }, size);
      const tile = partial.find((one) => one.level === level && one.index === index);
      if (width > 0 && (tile === undefined || tile.hashes.length < width * hashBytes))
        throw new Error(`the tile ${index} of level ${level} has fewer than ${width} hashes`);
      tile?.hashes.copy(edge.#roomOf(level), 0, 0, width * hashBytes);
    }
    edge.#size = size;
    return edge;
  }

  get size(): number {
    return this.#size;
  }

  /** `onFull` receives each filled tile, the lowest first, in reused memory. */
  add(leaf: Uint8Array, onFull?: (tile: TileHashes) => void): void {
    let hash = leaf;
    this.#size += 1;
    for (let level = 0; ; level++) {
      const index = hashesAtLevel(level, this.#size) - 1;
      const place = index % tileWidth;
      const room = this.#roomOf(level);
      room.set(hash, place * hashBytes);
      if (place < tileWidth - 1) return;
      onFull?.({ level, index: Math.floor(index / tileWidth), width: tileWidth, hashes: room });
      hash = foldHashes(room, tileWidth);
    }
  }

  addAll(leaves: Buffer, onFull?: (tile: TileHashes) => void): void {
    for (let at = 0; at < leaves.length; ) {
      const place = this.#size % tileWidth;
      const before = Math.min(tileWidth - 1 - place, leaves.length / hashBytes - at / hashBytes);
      leaves.copy(this.#roomOf(0), place * hashBytes, at, at + before * hashBytes);
      this.#size += before;
      at += before * hashBytes;
      if (at >= leaves.length) return;
      this.add(leaves.subarray(at, at + hashBytes), onFull);
      at += hashBytes;
    }
  }

  root(): Uint8Array {
    return rangeHash({ start: 0, end: this.#size }, (node) => {
      const { level } = tileWith(node);
      return hashInTile(node, this.#levels[level] ?? Buffer.alloc(0));
    });
  }

  partialTiles(): TileHashes[] {
    return this.#levels.flatMap((room, level) => {
      const index = Math.floor(hashesAtLevel(level, this.#size) / tileWidth);
      const width = widthIn({ level, index }, this.#size);
      return width === 0
        ? []
        : [{ level, index, width, hashes: Buffer.from(room.subarray(0, width * hashBytes)) }];
    });
  }

  #roomOf(level: number): Buffer {
    const room = this.#levels[level] ?? Buffer.alloc(tileWidth * hashBytes);
    this.#levels[level] = room;
    return room;
  }
}
