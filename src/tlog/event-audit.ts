import { type Entry, entryAt, entryBytes } from './entry.ts';
import type { ErasureHistory } from './erasure.ts';
import { hashBytes } from './hash.ts';

export interface Difference {
  readonly kind: 'altered' | 'missing' | 'added' | 'moved';
  /** For an added event, the position that it would have. */
  readonly position: number;
  readonly seq: bigint;
  readonly time: number;
  /** The position in the tree of the event found here. */
  readonly movedFrom?: number;
}

export interface EventFindings {
  readonly same: number;
  readonly expired: number;
  readonly erased: number;
  readonly counts: Readonly<Record<Difference['kind'], number>>;
  readonly first: Difference | undefined;
}

/** Remembered hashes of altered events, to detect moved ones. */
const rememberedMax = 10_000;

/** Compares stored events with the entries of a tree; both come in the order of ingest. */
export class EventAudit {
  readonly #mayBeRemoved: (entry: Entry) => boolean;
  readonly #erasures: ErasureHistory;
  readonly #counts = { altered: 0, missing: 0, added: 0, moved: 0 };
  readonly #displaced = new Map<string, number>();
  readonly #strange = new Map<string, Difference>();
  #first: Difference | undefined;
  #position = 0;
  #same = 0;
  #expired = 0;
  #erased = 0;

  /** @param mayBeRemoved whether retention may have removed an event (PolicyHistory) */
  constructor(mayBeRemoved: (entry: Entry) => boolean, erasures: ErasureHistory) {
    this.#mayBeRemoved = mayBeRemoved;
    this.#erasures = erasures;
  }

  compare(entries: Buffer, events: Buffer): void {
    const count = entries.length / entryBytes;
    if (entries.equals(events) && !this.#wasErasedIn(entries)) {
      this.#position += count;
      this.#same += count;
      return;
    }
    let at = 0;
    for (let index = 0; index < count; index++) {
      const entry = entryAt(entries, index);
      while (at < events.length && events.readBigUInt64BE(at) < entry.seq) at = this.#add(events, at);
      if (at < events.length && events.readBigUInt64BE(at) === entry.seq) {
        const bytes = entries.subarray(index * entryBytes, (index + 1) * entryBytes);
        this.#hold(entry, bytes, events.subarray(at, at + entryBytes));
        at += entryBytes;
      } else if (this.#mayBeRemoved(entry)) this.#expired += 1;
      else this.#miss(entry);
      this.#position += 1;
    }
    while (at < events.length) at = this.#add(events, at);
  }

  #wasErasedIn(entries: Buffer): boolean {
    const count = entries.length / entryBytes;
    return count > 0 && this.#erasures.touches(entryAt(entries, 0).seq, entryAt(entries, count - 1).seq);
  }

  #hold(entry: Entry, bytes: Buffer, event: Buffer): void {
    const now = entryAt(event, 0);
    const isSame = bytes.equals(event);
    // All but the hash, which comes last.
    const isErased = !isSame && bytes.subarray(0, -hashBytes).equals(event.subarray(0, -hashBytes));
    if (isSame && this.#erasures.allows(entry, now.eventHash)) this.#same += 1;
    else if (isErased && this.#erasures.explains(entry, now.eventHash)) this.#erased += 1;
    else this.#alter(entry, now);
  }

  findings(): EventFindings {
    return {
      same: this.#same,
      expired: this.#expired,
      erased: this.#erased,
      counts: { ...this.#counts },
      first: this.#first,
    };
  }

  #add(events: Buffer, at: number): number {
    const { seq, time, eventHash } = entryAt(events.subarray(at, at + entryBytes), 0);
    this.#report({ kind: 'added', position: this.#position, seq, time }, eventHash);
    return at + entryBytes;
  }

  #miss(entry: Entry): void {
    this.#displace(entry);
    this.#report({ kind: 'missing', position: this.#position, seq: entry.seq, time: entry.time });
  }

  #alter(entry: Entry, now: Entry): void {
    const isOther = Buffer.compare(entry.eventHash, now.eventHash) !== 0;
    if (isOther) this.#displace(entry);
    const difference = {
      kind: 'altered',
      position: this.#position,
      seq: entry.seq,
      time: entry.time,
    } as const;
    this.#report(difference, isOther ? now.eventHash : undefined);
  }

  /** `strange`: the hash of an event that the tree may have elsewhere. */
  #report(difference: Difference, strange?: Uint8Array): void {
    const key = strange === undefined ? undefined : Buffer.from(strange).toString('latin1');
    const movedFrom = key === undefined ? undefined : this.#displaced.get(key);
    const reported =
      movedFrom === undefined ? difference : { ...difference, kind: 'moved' as const, movedFrom };
    this.#counts[reported.kind] += 1;
    this.#first ??= reported;
    if (key !== undefined && movedFrom === undefined && this.#strange.size < rememberedMax)
      this.#strange.set(key, difference);
  }

  /** An event found elsewhere before was moved. */
  #displace({ eventHash }: Entry): void {
    const key = Buffer.from(eventHash).toString('latin1');
    const elsewhere = this.#strange.get(key);
    if (this.#displaced.size < rememberedMax) this.#displaced.set(key, this.#position);
    if (elsewhere === undefined) return;
    this.#counts[elsewhere.kind] -= 1;
    this.#counts.moved += 1;
    if (this.#first === elsewhere) this.#first = { ...elsewhere, kind: 'moved', movedFrom: this.#position };
  }
}
