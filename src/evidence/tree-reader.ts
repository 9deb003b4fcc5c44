import { type Entry, entryAt, expiryOf } from '../tlog/entry.ts';
import { hashBytes } from '../tlog/hash.ts';
import { hashInTile, type TileId, tileWith, tileWidth } from '../tlog/tile.ts';
import { type Node, coveringNodes, type Range, rangeHash } from '../tlog/tree.ts';
import type { StoredTile, TileTable } from './tile-table.ts';
import { hashesOf } from './tree.ts';

const keyOf = ({ level, index }: TileId): string => `${level}/${index}`;

export class TreeReader {
  readonly #tiles: TileTable;

  constructor(tiles: TileTable) {
    this.#tiles = tiles;
  }

  /** In one query. Undefined if the tree has fewer leaves. */
  async hashes(organization: string, ranges: readonly Range[]): Promise<Uint8Array[] | undefined> {
    const needed = new Map(
      ranges.flatMap(coveringNodes).map((node) => {
        const { level, index } = tileWith(node);
        return [keyOf({ level, index }), { level, index }];
      }),
    );
    const found = await this.#tiles.get(organization, [...needed.values()]);
    const hashes = new Map(found.map((tile) => [keyOf(tile), hashesOf(tile)]));
    const hashOf = (node: Node): Buffer =>
      hashInTile(node, hashes.get(keyOf(tileWith(node))) ?? Buffer.alloc(0));
    try {
      return ranges.map((range) => rangeHash(range, hashOf));
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /** Undefined if there are fewer leaves. */
  async root(organization: string, size: number): Promise<Uint8Array | undefined> {
    const [root] = (await this.hashes(organization, [{ start: 0, end: size }])) ?? [];
    return root;
  }

  /** Hashes or entries of a tile, up to `width`; undefined if there are fewer. */
  async tile(
    organization: string,
    { level, index, width }: TileId & { readonly width: number },
    kind: 'hashes' | 'entries',
  ): Promise<Buffer | undefined> {
    const [tile] = await this.#tiles.get(organization, [{ level, index }]);
    if (tile === undefined || tile.width < width) return undefined;
    if (kind === 'hashes') return hashesOf(tile).subarray(0, width * hashBytes);
    return tile.content.subarray(0, (tile.content.length / tile.width) * width);
  }

  async entry(organization: string, position: number): Promise<PlacedEntry | undefined> {
    const [tile] = await this.#tiles.get(organization, [
      { level: 0, index: Math.floor(position / tileWidth) },
    ]);
    return tile === undefined ? undefined : placed(tile, position % tileWidth);
  }

  async entryOf(organization: string, seq: bigint): Promise<PlacedEntry | undefined> {
    const index = await this.#tiles.indexBefore(organization, seq);
    if (index === undefined) return undefined;
    const [tile] = await this.#tiles.get(organization, [{ level: 0, index }]);
    if (tile === undefined) return undefined;
    for (let place = 0; place < tile.width; place++)
      if (entryAt(tile.content, place).seq === seq) return placed(tile, place);
    return undefined;
  }

  /** Without events that the tree lacks. */
  async entriesOf(organization: string, seqs: readonly bigint[]): Promise<Map<bigint, PlacedEntry>> {
    const wanted = new Set(seqs);
    const found = new Map<bigint, PlacedEntry>();
    for (const tile of await this.#tiles.withSeqs(organization, seqs))
      for (let place = 0; place < tile.width; place++) {
        const { seq } = entryAt(tile.content, place);
        const entry = wanted.has(seq) ? placed(tile, place) : undefined;
        if (entry !== undefined) found.set(seq, entry);
      }
    return found;
  }
}

export interface PlacedEntry extends Entry {
  readonly position: number;
  /** `2027-01-31`; undefined: never. */
  readonly expiryDay: string | undefined;
  readonly bytes: Buffer;
}

function placed({ content, index, width }: StoredTile, place: number): PlacedEntry | undefined {
  if (place >= width) return undefined;
  const bytesEach = content.length / width;
  const bytes = content.subarray(place * bytesEach, (place + 1) * bytesEach);
  const entry = entryAt(content, place);
  return { ...entry, position: index * tileWidth + place, expiryDay: expiryOf(entry), bytes };
}
