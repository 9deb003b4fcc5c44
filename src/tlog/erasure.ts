import { createHash, type Hash } from 'node:crypto';
import type { Entry } from './entry.ts';
import { hashBytes } from './hash.ts';

/**
 * An event without an erased person: order number (8 bytes), hash before and after (entry.ts). An event in
 * the tree has the hash of a list of these.
 */
export const erasedBytes = 8 + 2 * hashBytes;
const beforeAt = 8;
const afterAt = beforeAt + hashBytes;

/** Activity of that event (contract: Events). */
export const erasureCode = 5016;

export function encodeErased(seq: bigint, before: Uint8Array, after: Uint8Array): Buffer {
  const bytes = Buffer.alloc(erasedBytes);
  bytes.writeBigUInt64BE(seq);
  bytes.set(before, beforeAt);
  bytes.set(after, afterAt);
  return bytes;
}

export class ErasureDigest {
  readonly #hash: Hash = createHash('sha256');

  add(erased: Uint8Array): void {
    this.#hash.update(erased);
  }

  hex(): string {
    return this.#hash.digest('hex');
  }
}

export interface ErasureStatement {
  readonly id: string;
  readonly pseudonym: string;
  readonly digest: string;
}

export function erasureIn(source: string): ErasureStatement | undefined {
  let message: unknown;
  try {
    message = memberOf(JSON.parse(source), 'message');
  } catch {
    return undefined;
  }
  const action = memberOf(message, 'action');
  const code = typeof action === 'object' ? memberOf(action, 'code') : action;
  if (code !== erasureCode) return undefined;
  const erasure = memberOf(memberOf(message, 'extra'), 'erasure');
  const [id, pseudonym, digest] = ['id', 'pseudonym', 'digest'].map((name) => memberOf(erasure, name));
  if (typeof id !== 'string' || typeof pseudonym !== 'string' || typeof digest !== 'string') return undefined;
  return { id, pseudonym, digest };
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

export interface Erasure {
  readonly pseudonym: string;
  /** Order number and position of that event. */
  readonly seq: bigint;
  readonly position: number;
  /** Its events, concatenated, in the order of ingest. */
  readonly list: Buffer;
  readonly isPending: boolean;
}

export class ErasureHistory {
  readonly #erasures: readonly Erasure[];
  readonly #counts = new Map<Erasure, number>();

  constructor(erasures: readonly Erasure[]) {
    this.#erasures = erasures.toSorted((a, b) => (a.seq < b.seq ? -1 : 1));
  }

  get isEmpty(): boolean {
    return this.#erasures.length === 0;
  }

  /** Both inclusive. */
  touches(from: bigint, to: bigint): boolean {
    return this.#erasures.some(({ list }) => {
      const place = findIndex(list, from);
      return place < list.length && list.readBigUInt64BE(place) <= to;
    });
  }

  /** Allowed hashes besides the entry's; the last is the intended one. */
  #hashesOf(entry: Pick<Entry, 'seq' | 'eventHash'>): { readonly hash: Buffer; readonly by: Erasure }[] {
    const found: { hash: Buffer; by: Erasure }[] = [];
    let hash: Buffer = Buffer.from(entry.eventHash);
    for (const erasure of this.#erasures) {
      const { list } = erasure;
      const place = findIndex(list, entry.seq);
      if (place >= list.length || list.readBigUInt64BE(place) !== entry.seq) continue;
      if (!list.subarray(place + beforeAt, place + afterAt).equals(hash)) continue;
      hash = list.subarray(place + afterAt, place + erasedBytes);
      found.push({ hash, by: erasure });
    }
    return found;
  }

  /**
   * Whether the hash is the one that erasures left: the recorded one without an erasure or while one is
   * pending.
   */
  allows(entry: Pick<Entry, 'seq' | 'eventHash'>, now: Uint8Array): boolean {
    const found = this.#hashesOf(entry);
    for (let at = found.length - 1; at >= 0; at--) {
      const one = found[at];
      if (one === undefined || one.hash.equals(now)) return true;
      if (!one.by.isPending) return false;
    }
    return Buffer.compare(entry.eventHash, now) === 0;
  }

  /** As `allows`, for an event that differs from its entry; counts, so call once per event. */
  explains(entry: Entry, now: Uint8Array): boolean {
    if (!this.allows(entry, now)) return false;
    const last = this.#hashesOf(entry).findLast(({ hash }) => hash.equals(now));
    if (last !== undefined) this.#counts.set(last.by, (this.#counts.get(last.by) ?? 0) + 1);
    return true;
  }

  /** Numbers of erased events, by their last erasure. */
  get erased(): readonly { readonly erasure: Erasure; readonly events: number }[] {
    return [...this.#counts].map(([erasure, events]) => ({ erasure, events }));
  }
}

function findIndex(list: Buffer, seq: bigint): number {
  let [from, to] = [0, list.length / erasedBytes];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (list.readBigUInt64BE(middle * erasedBytes) < seq) from = middle + 1;
    else to = middle;
  }
  return from * erasedBytes;
}
