import { foldHashes, hashBytes } from './hash.ts';
import type { Node } from './tree.ts';

/** Hashes in a full tile (C2SP tlog-tiles): a subtree of eight levels. */
export const tileWidth = 256;
const tileLevels = 8;
const tileLevelMax = 63;

/** `index` counts the tiles of its level. */
export interface TileId {
  readonly level: number;
  readonly index: number;
}

/** Partial with fewer hashes than `tileWidth`. */
export interface Tile extends TileId {
  readonly width: number;
}

export const hashesAtLevel = (level: number, size: number): number => Math.floor(size / tileWidth ** level);

export function countLevels(size: number): number {
  let levels = 0;
  while (hashesAtLevel(levels, size) > 0) levels += 1;
  return levels;
}

/** 0 if the tree has no such tile. */
export function widthIn({ level, index }: TileId, size: number): number {
  return Math.max(0, Math.min(tileWidth, hashesAtLevel(level, size) - index * tileWidth));
}

export function tileWith({
  level,
  index,
}: Node): TileId & { readonly first: number; readonly count: number } {
  const count = 2 ** (level % tileLevels);
  const first = index * count;
  const tile = Math.floor(first / tileWidth);
  return { level: Math.floor(level / tileLevels), index: tile, first: first - tile * tileWidth, count };
}

/** Throws if the tile is too narrow. */
export function hashInTile(node: Node, hashes: Uint8Array): Buffer {
  const { first, count } = tileWith(node);
  const from = first * hashBytes;
  const to = from + count * hashBytes;
  if (to > hashes.length)
    throw new RangeError(`a tile of ${hashes.length} bytes does not hold its hash ${first}`);
  return foldHashes(Buffer.from(hashes.subarray(from, to)), count);
}

function indexPath(index: number): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/');
}

export interface TileResource extends Tile {
  readonly kind: 'hashes' | 'entries';
}

/** Relative path, such as `tile/0/x001/234.p/17`. */
export function tilePath({ kind, level, index, width }: TileResource): string {
  const part = width === tileWidth ? '' : `.p/${width}`;
  return `tile/${kind === 'entries' ? kind : level}/${indexPath(index)}${part}`;
}

const tilePattern = /^tile\/(entries|0|[1-9]\d?)\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;

/** Undefined for a path that `tilePath` does not produce. */
export function parseTilePath(path: string): TileResource | undefined {
  const [, what, digits, part] = tilePattern.exec(path) ?? [];
  if (what === undefined || digits === undefined) return undefined;
  const index = Number(digits.replaceAll(/\D/g, ''));
  const isEntries = what === 'entries';
  const tile: TileResource = {
    kind: isEntries ? 'entries' : 'hashes',
    level: isEntries ? 0 : Number(what),
    index,
    width: part === undefined ? tileWidth : Number(part),
  };
  const isInside = tile.level <= tileLevelMax && Number.isSafeInteger(index) && tile.width <= tileWidth;
  return isInside && tilePath(tile) === path ? tile : undefined;
}
