import type { TreeHead } from './checkpoint.ts';
import { type Entry, entryAt, entryBytes } from './entry.ts';
import { hashBytes, writeLeafHash } from './hash.ts';
import { RightEdge } from './right-edge.ts';

/** What entries say when they are held against checkpoints. */
export interface TreeFindings {
  /** Entries that were looked at. */
  readonly size: number;
  /** The largest checkpoint that the entries agree with, and the smallest that they do not. */
  readonly agreed: TreeHead | undefined;
  readonly differing: TreeHead | undefined;
  /** The smallest that speaks of more entries than there are. */
  readonly beyond: TreeHead | undefined;
  /** The place of the first entry that does not stand behind the one before it. */
  readonly outOfOrder: number | undefined;
  /** When the entries were recorded between the two checkpoints, as far as they tell: the first one's. */
  readonly firstDiffering: Entry | undefined;
}

/** Makes the tree of entries anew, and compares its root with each checkpoint on the way. Constant memory. */
export class TreeAudit {
  readonly #edge = new RightEdge();
  readonly #heads: readonly TreeHead[];
  #next = 0;
  readonly #leaf = Buffer.alloc(hashBytes);
  /** Of the last order number. */
  #high = 0;
  #low = -1;
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

  /** Takes entries one behind the other. */
  add(entries: Buffer): void {
    for (let at = 0; at + entryBytes <= entries.length; at += entryBytes) {
      this.#holdOrder(entries.readUInt32BE(at), entries.readUInt32BE(at + 4));
      this.#afterAgreed ??= entryAt(Buffer.from(entries.subarray(at, at + entryBytes)), 0);
      writeLeafHash(entries, at, entryBytes, this.#leaf);
      this.#edge.add(this.#leaf);
      while (this.#heads[this.#next]?.size === this.size) this.#compare(this.#heads[this.#next]);
    }
  }

  /** The halves of an order number, as numbers: a BigInt for each event would take as long as its hash. */
  #holdOrder(high: number, low: number): void {
    const isBehind = high > this.#high || (high === this.#high && low > this.#low);
    if (!isBehind) this.#outOfOrder ??= this.size;
    this.#high = high;
    this.#low = low;
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
