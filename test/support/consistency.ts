import { emptyRoot, nodeHash } from '../../src/tlog/hash.ts';
import { consistencyRanges } from '../../src/tlog/tree.ts';

interface Tree {
  readonly size: number;
  readonly root: Uint8Array;
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Whether a proof shows that the newer tree begins with all leaves of the older one (RFC 6962, 2.1.2). */
export function isConsistent(older: Tree, newer: Tree, proof: readonly Uint8Array[]): boolean {
  if (older.size > newer.size) return false;
  if (older.size === 0) return proof.length === 0 && isSame(older.root, emptyRoot);
  if (proof.length !== consistencyRanges(older.size, newer.size).length) return false;
  const left = [...proof];
  const climb = (start: number, end: number): readonly [older: Uint8Array, newer: Uint8Array] => {
    if (end === older.size) {
      const known = start === 0 ? older.root : (left.pop() as Uint8Array);
      return [known, known];
    }
    const middle = start + 2 ** Math.floor(Math.log2(end - start - 1));
    const beside = left.pop() as Uint8Array;
    if (older.size <= middle) {
      const [before, now] = climb(start, middle);
      return [before, nodeHash(now, beside)];
    }
    const [before, now] = climb(middle, end);
    return [nodeHash(beside, before), nodeHash(beside, now)];
  };
  const [olderRoot, newerRoot] = climb(0, newer.size);
  return isSame(olderRoot, older.root) && isSame(newerRoot, newer.root);
}
