import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { emptyRoot, leafHash, nodeHash } from '../../src/tlog/hash.ts';
import { RightEdge, type TileHashes } from '../../src/tlog/right-edge.ts';
import { hashInTile, parseTilePath, tileWith, tilePath, tileWidth, widthIn } from '../../src/tlog/tile.ts';
import { consistencyRanges, inclusionRanges, isIncluded, type Node, rangeHash } from '../../src/tlog/tree.ts';
import { isConsistent } from '../support/consistency.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** The tree of RFC 6962 (2.1), in its own words. */
function naiveRoot(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return emptyRoot;
  if (leaves.length === 1) return leaves[0] ?? emptyRoot;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return nodeHash(naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split)));
}

const leavesOf = (count: number) =>
  Array.from({ length: count }, (_, n) => leafHash(Buffer.from(`leaf ${n}`)));
const nodeIn = (leaves: readonly Uint8Array[]) => (node: Node) =>
  naiveRoot(leaves.slice(node.index * 2 ** node.level, (node.index + 1) * 2 ** node.level));

/** Leaves and roots that implementations of Certificate Transparency test with. */
const published = {
  leaves: [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ],
  roots: [
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ],
  firstInEight: [
    '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  ],
  eightAfterSix: [
    '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ],
};

describe('the tree', () => {
  test('has the published roots and proofs', () => {
    const leaves = published.leaves.map((text) => leafHash(Buffer.from(text, 'hex')));
    const hashOf = nodeIn(leaves);
    const edge = new RightEdge();
    assert.equal(hex(edge.root()), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    for (const [n, root] of published.roots.entries()) {
      edge.add(leaves[n] ?? emptyRoot);
      assert.equal(hex(edge.root()), root);
      assert.equal(hex(rangeHash({ start: 0, end: n + 1 }, hashOf)), root);
    }
    const hashes = (ranges: readonly { start: number; end: number }[]) =>
      ranges.map((range) => hex(rangeHash(range, hashOf)));
    assert.deepEqual(hashes(inclusionRanges(0, 8)), published.firstInEight);
    assert.deepEqual(hashes(consistencyRanges(6, 8)), published.eightAfterSix);
  });

  test('proves every leaf and every earlier tree, and nothing else', () => {
    const leaves = leavesOf(70);
    const hashOf = nodeIn(leaves);
    const treeOf = (size: number) => ({ size, root: naiveRoot(leaves.slice(0, size)) });
    const sizes = fc.integer({ min: 1, max: leaves.length });
    const change = fc.record({ at: fc.nat(), bit: fc.nat(255) });
    const rule = fc.property(sizes, fc.nat(), fc.nat(), change, (size, a, b, { at, bit }) => {
      const tree = treeOf(size);
      const index = a % size;
      const leaf = leaves[index] ?? emptyRoot;
      const included = inclusionRanges(index, size).map((range) => rangeHash(range, hashOf));
      assert.equal(isIncluded(leaf, index, tree, included), true);
      assert.equal(isIncluded(leaf, index + 1, tree, included), false);
      assert.equal(isIncluded(leafHash(leaf), index, tree, included), false);
      assert.equal(isIncluded(leaf, index, tree, [...included, leaf]), false);

      const older = treeOf(1 + (b % size));
      const continued = consistencyRanges(older.size, size).map((range) => rangeHash(range, hashOf));
      assert.equal(isConsistent(older, tree, continued), true);
      assert.equal(isConsistent({ ...older, root: leafHash(older.root) }, tree, continued), false);
      assert.equal(isConsistent(older, { ...tree, root: leafHash(tree.root) }, continued), false);
      assert.equal(isConsistent(older, tree, [...continued, leaf]), false);

      for (const [proof, holds] of [
        [included, (hashes: Uint8Array[]) => isIncluded(leaf, index, tree, hashes)],
        [continued, (hashes: Uint8Array[]) => isConsistent(older, tree, hashes)],
      ] as const) {
        if (proof.length === 0) continue;
        const damaged = proof.map((hash) => Buffer.from(hash));
        const hit = damaged[at % damaged.length] ?? Buffer.alloc(32);
        hit[bit >> 3] = (hit[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        assert.equal(holds(damaged), false);
        assert.equal(holds(proof.slice(1)), false);
      }
    });
    fc.assert(rule, { numRuns: 300 });
    assert.equal(isConsistent({ size: 0, root: emptyRoot }, treeOf(5), []), true);
    assert.equal(isConsistent(treeOf(5), treeOf(4), []), false);
  });

  test('grows by its right edge alone, also from the middle, and fills the same tiles', () => {
    const count = tileWidth * 3 + 41;
    const leaves = leavesOf(count);
    const hashOf = nodeIn(leaves);
    const cases = [fc.integer({ min: 0, max: count }), fc.integer({ min: 1, max: count })] as const;
    const rule = fc.property(...cases, (middle, piece) => {
      const tiles: TileHashes[] = [];
      const first = new RightEdge();
      const keep = (tile: TileHashes) => tiles.push({ ...tile, hashes: Buffer.from(tile.hashes) });
      for (const leaf of leaves.slice(0, middle)) first.add(leaf, keep);
      const edge = RightEdge.of(middle, first.partialTiles());
      for (let at = middle; at < count; at += piece)
        edge.addAll(Buffer.concat(leaves.slice(at, at + piece)), keep);
      assert.equal(hex(edge.root()), hex(naiveRoot(leaves)));
      assert.deepEqual(
        tiles.map(({ level, index }) => [level, index]),
        [0, 1, 2].map((index) => [0, index]),
      );
      for (const tile of [...tiles, ...edge.partialTiles()]) {
        assert.equal(tile.width, widthIn(tile, count));
        for (const [place, level] of [
          [0, 0],
          [tile.width - 1, 0],
          [0, Math.min(7, Math.floor(Math.log2(tile.width)))],
        ] as const) {
          const node = {
            level: tile.level * 8 + level,
            index: ((tile.index * tileWidth + place) / 2 ** level) | 0,
          };
          assert.equal(tileWith(node).index, tile.index);
          assert.equal(hex(hashInTile(node, tile.hashes)), hex(hashOf(node)));
        }
      }
    });
    fc.assert(rule, { numRuns: 12 });
    assert.throws(() => RightEdge.of(300, []), /has fewer than 44 hashes/);
    assert.throws(() => hashInTile({ level: 0, index: 40 }, Buffer.alloc(40 * 32)), RangeError);
  });

  test('widths of tiles are those of the specification', () => {
    const widths = (level: number, size: number, indexes: readonly number[]) =>
      indexes.map((index) => widthIn({ level, index }, size));
    assert.deepEqual(widths(0, 70_000, [0, 272, 273, 274]), [256, 256, 112, 0]);
    assert.deepEqual(widths(1, 70_000, [0, 1, 2]), [256, 17, 0]);
    assert.deepEqual(widths(2, 70_000, [0, 1]), [1, 0]);
    assert.deepEqual(widths(1, 256, [0]), [1]);
  });

  test('paths of tiles are those of the specification, and nothing like them', () => {
    const path = (level: number, index: number, width = 256) =>
      tilePath({ kind: 'hashes', level, index, width });
    assert.equal(path(0, 1_234_067), 'tile/0/x001/x234/067');
    assert.equal(path(3, 7, 17), 'tile/3/007.p/17');
    assert.equal(tilePath({ kind: 'entries', level: 0, index: 1000, width: 1 }), 'tile/entries/x001/000.p/1');
    const tiles = fc.record({
      kind: fc.constantFrom('hashes', 'entries'),
      level: fc.nat(63),
      index: fc.oneof(fc.nat(2_000_000), fc.maxSafeNat()),
      width: fc.integer({ min: 1, max: 256 }),
    });
    fc.assert(
      fc.property(tiles, (any) => {
        const tile = { ...any, level: any.kind === 'entries' ? 0 : any.level };
        assert.deepEqual(parseTilePath(tilePath(tile)), tile);
      }),
    );
    for (const wrong of 'tile/64/000 tile/00/000 tile/0/00 tile/0/1000 tile/0/x000/001 tile/0/000.p/0 tile/0/000.p/256 tile/0/000.p/01 tile/0/001/x000 tile/entry/000 tile/0/../000 /tile/0/000'.split(
      ' ',
    ))
      assert.equal(parseTilePath(wrong), undefined, wrong);
  });
});
