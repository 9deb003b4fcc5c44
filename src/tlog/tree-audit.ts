import type { TreeHead } from './checkpoint.ts';
import { type Entry, entryAt, entryBytes, risingRows } from './entry.ts';
import { hashBytes, leafHashes } from './hash.ts';
import { RightEdge } from './right-edge.ts';

export interface TreeFindings {
  readonly size: number;
  /** The largest matching and the smallest contradicting checkpoint. */
  readonly agreed: TreeHead | undefined;
  readonly differing: TreeHead | undefined;
  /** The smallest checkpoint with more entries than there are. */
  readonly beyond: TreeHead | undefined;
  readonly outOfOrder: number | undefined;
  /** The first entry between the two checkpoints. */
  readonly firstDiffering: Entry | undefined;
}

/** In constant memory. */
export class TreeAudit {
  readonly #edge = new RightEdge();
  readonly #heads: readonly TreeHead[];
  #next = 0;
  #lastSeq = -1n;
  #agreed: TreeHead | undefined;
  #differing: TreeHead | undefined;
  #outOfOrder: number | undefined;
  #afterAgreed: Entry | undefined;

  constructor(heads: readonly TreeHead[]) {
    this.#heads = heads.filter(({ size }) => size > 0).toSorted((a, b) => a.size - b.size);
  }

  get size(): number {
    return this.#edge.size;
  }

  add(entries: Buffer, leaves = leafHashes(entries, entryBytes)): void {
    this.#holdOrder(entries);
    const count = entries.length / entryBytes;
    for (let at = 0; at < count; ) {
      const end = Math.min(count, at + (this.#heads[this.#next]?.size ?? Infinity) - this.size);
      this.#afterAgreed ??= entryAt(Buffer.from(entries.subarray(at * entryBytes, (at + 1) * entryBytes)), 0);
      this.#edge.addAll(leaves.subarray(at * hashBytes, end * hashBytes));
      at = end;
      while (this.#heads[this.#next]?.size === this.size) this.#compare(this.#heads[this.#next]);
    }
  }

  #holdOrder(entries: Buffer): void {
    const count = entries.length / entryBytes;
    if (count === 0) return;
    const [first] = risingRows(entries, this.#lastSeq);
    if (first?.[0] !== 0) this.#outOfOrder ??= this.size;
    else if (first[1] < count) this.#outOfOrder ??= this.size + first[1];
    this.#lastSeq = entryAt(entries, count - 1).seq;
  }

  #compare(head: TreeHead | undefined): void {
    this.#next += 1;
    if (head === undefined || this.#differing !== undefined) return;
    if (Buffer.compare(head.root, this.#edge.root()) !== 0) {
      this.#differing = head;
      return;
    }
    this.#agreed = head;
    this.#afterAgreed = undefined;
  }

  findings(): TreeFindings {
    return {
      size: this.size,
      agreed: this.#agreed,
      differing: this.#differing,
      beyond: this.#heads[this.#next],
      outOfOrder: this.#outOfOrder,
      firstDiffering: this.#afterAgreed,
    };
  }
}
