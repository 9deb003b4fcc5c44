import { emptyRoot, nodeHash } from './hash.ts';

/**
 * The Merkle tree of RFC 6962 (2.1). Node `i` of level `l` covers leaves `i 2^l` to `(i+1) 2^l - 1`; it is
 * complete, so it never changes.
 */
export interface Node {
  readonly level: number;
  readonly index: number;
}

/** `end` is exclusive. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** The largest power of two below `count`, which must be above 1. */
function splitPoint(count: number): number {
  let split = 1;
  while (split * 2 < count) split *= 2;
  return split;
}

export function coveringNodes({ start, end }: Range): Node[] {
  const count = end - start;
  if (count <= 0) return [];
  const level = Math.log2(count);
  if (Number.isInteger(level)) return [{ level, index: start / count }];
  const middle = start + splitPoint(count);
  return [...coveringNodes({ start, end: middle }), ...coveringNodes({ start: middle, end })];
}

export function rangeHash(range: Range, hashOf: (node: Node) => Uint8Array): Uint8Array {
  const [last, ...before] = coveringNodes(range).toReversed();
  if (last === undefined) return emptyRoot;
  // Subtrees become smaller to the right, so fold from the right.
  return before.reduce((right, node) => nodeHash(hashOf(node), right), hashOf(last));
}

export function inclusionRanges(index: number, size: number): Range[] {
  if (!(index >= 0 && index < size)) throw new RangeError(`no leaf ${index} in a tree of ${size}`);
  const path = (start: number, end: number): Range[] => {
    if (end - start === 1) return [];
    const middle = start + splitPoint(end - start);
    return index < middle
      ? [...path(start, middle), { start: middle, end }]
      : [...path(middle, end), { start, end: middle }];
  };
  return path(0, size);
}

export function consistencyRanges(older: number, size: number): Range[] {
  if (!(older > 0 && older <= size)) throw new RangeError(`no tree of ${older} in one of ${size}`);
  const path = (start: number, end: number): Range[] => {
    // The verifier has the older root.
    if (end === older) return start === 0 ? [] : [{ start, end }];
    const middle = start + splitPoint(end - start);
    return older <= middle
      ? [...path(start, middle), { start: middle, end }]
      : [...path(middle, end), { start, end: middle }];
  };
  return path(0, size);
}

/** Whether leaf `index` is in the tree of `size` leaves with this root (RFC 6962, 2.1.1). */
export function isIncluded(
  leaf: Uint8Array,
  index: number,
  { size, root }: { readonly size: number; readonly root: Uint8Array },
  proof: readonly Uint8Array[],
): boolean {
  if (!(index >= 0 && index < size) || proof.length !== inclusionRanges(index, size).length) return false;
  const left = [...proof];
  const climb = (start: number, end: number): Uint8Array => {
    if (end - start === 1) return leaf;
    const middle = start + splitPoint(end - start);
    const beside = left.pop() as Uint8Array;
    return index < middle ? nodeHash(climb(start, middle), beside) : nodeHash(beside, climb(middle, end));
  };
  return Buffer.compare(climb(0, size), root) === 0;
}
