import { EngineError } from '../base/errors/engine-error.ts';
import { Problem } from '../base/errors/problem.ts';
import { eventsInOrder } from '../storage/replica-reads.ts';
import { shownHash } from '../storage/event-hash.ts';
import type { Settings, Storage } from '../storage/storage.ts';
import { caseText } from '../tlog/case.ts';
import { encodeEntry, eventHash, toBundle } from '../tlog/entry.ts';
import { parseTilePath } from '../tlog/tile.ts';
import { consistencyRanges, inclusionRanges } from '../tlog/tree.ts';
import { proofText } from '../tlog/proof-text.ts';
import { type CheckpointTable, type StoredCheckpoint } from './checkpoint-table.ts';
import { limits } from './limits.ts';
import { type LogKey, type PublishedKey, readKeys } from './log-key.ts';
import { type Progress, readProgress, watermarkOf } from './progress-table.ts';
import type { TileTable } from './tile-table.ts';
import { type PlacedEntry, TreeReader } from './tree-reader.ts';

const byPlace: Settings = { max_threads: 1, min_table_rows_to_use_projection_index: 0 };

export type EventName = { readonly position: number } | { readonly seq: bigint };

export interface Inclusion {
  readonly entry: PlacedEntry;
  /** Undefined if the event is gone. */
  readonly source: string | undefined;
  /** SHA-256 of the shown columns; undefined if the event is gone. */
  readonly shown: Buffer | undefined;
  /** Whether the stored event matches its entry; undefined if it is gone. */
  readonly asRecorded: boolean | undefined;
  readonly checkpoint: StoredCheckpoint;
  readonly proof: string;
}

/** In the order of the request. */
export interface Covered {
  readonly checkpoint: StoredCheckpoint;
  readonly entries: readonly PlacedEntry[];
}

export interface Consistency {
  readonly older: StoredCheckpoint;
  readonly newer: StoredCheckpoint;
  readonly hashes: readonly Uint8Array[];
}

interface ReaderOptions {
  readonly storage: Storage;
  readonly tiles: TileTable;
  readonly checkpoints: CheckpointTable;
  readonly key: LogKey;
  /** See `ReadersOptions` in src/read. */
  retentionCutOff(organization: string): number | undefined;
  /** Milliseconds within which this process signs for new events; undefined: never. */
  signsWithinMs(organization: string): number | undefined;
}

/** Not yet, not by this server, or the tree passed its position without it. */
type Uncovered = 'pending' | 'off' | 'absent';

const uncoveredWords: Readonly<Record<Uncovered, string>> = {
  pending: 'No checkpoint covers such an event yet.',
  off: 'No checkpoint covers such an event, and this server signs none at present.',
  absent: 'The tree has no such event, and it is complete up to that time.',
};

export function uncovered(evidence: Uncovered, withinMs = 0): Problem {
  const later = withinMs > 0 ? { retryAfterSeconds: withinMs / 1000 } : {};
  return new Problem('not_found', uncoveredWords[evidence], { members: { evidence }, ...later });
}

/** One of several events is not covered, so the whole request must be repeated or cannot be answered. */
function notCovered({ message, options }: Problem): Problem {
  const isPending = options.members?.['evidence'] === 'pending';
  const detail = `Not every event has its proof. ${message}`;
  return new Problem(isPending ? 'unavailable' : 'conflict', detail, options);
}

/** Methods reject with EngineError. */
export class EvidenceReader {
  readonly #options: ReaderOptions;
  readonly #tree: TreeReader;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#tree = new TreeReader(options.tiles);
  }

  /** The newest, or the oldest with at least `size` events. Rejects with a Problem if there is none. */
  async checkpoint(organization: string, size?: number): Promise<StoredCheckpoint> {
    const { checkpoints } = this.#options;
    const found =
      size === undefined
        ? (await checkpoints.newest([organization]))[0]
        : await checkpoints.covering(organization, size);
    if (found === undefined) throw new Problem('not_found', 'There is no such checkpoint yet.');
    return found;
  }

  async tile(organization: string, path: string): Promise<Buffer | undefined> {
    const resource = parseTilePath(path);
    if (resource === undefined) return undefined;
    const found = await this.#tree.tile(organization, resource, resource.kind);
    return found !== undefined && resource.kind === 'entries' ? toBundle(found) : found;
  }

  /** The newest last, and the begin of evidence. */
  async keys(organization: string): Promise<{
    readonly origin: string;
    readonly keys: readonly (PublishedKey & { readonly verifierKey: string })[];
    readonly progress: Progress | undefined;
  }> {
    const { storage, key } = this.#options;
    const keys = await readKeys(storage);
    return {
      origin: key.originOf(organization),
      keys: keys.map((one) => ({ ...one, verifierKey: key.verifierKeyOf(organization, one) })),
      progress: await readProgress(storage),
    };
  }

  /**
   * By the oldest checkpoint with the event, or the one of `size` events. Rejects with a Problem if the event is in no tree yet,
   * or the checkpoint does not exist.
   */
  async inclusion(organization: string, event: EventName, size?: number): Promise<Inclusion> {
    const entry =
      'seq' in event
        ? await this.#tree.entryOf(organization, event.seq)
        : await this.#tree.entry(organization, event.position);
    if (entry === undefined) throw await this.#uncovered(organization, event);
    if (size !== undefined && size <= entry.position)
      throw new Problem(
        'malformed',
        `The parameter "size" must be above ${entry.position}, the position of the event.`,
      );
    const checkpoint =
      size === undefined
        ? await this.#covering(organization, entry.position + 1)
        : await this.checkpoint(organization, size);
    const hashes = await this.#hashes(organization, inclusionRanges(entry.position, checkpoint.size));
    const isExpired = entry.time < (this.#options.retentionCutOff(organization) ?? Number.NEGATIVE_INFINITY);
    const stored = isExpired ? undefined : await this.#stored(organization, entry.seq);
    const proof = proofText({ index: entry.position, hashes, checkpoint: checkpoint.text });
    return {
      entry,
      source: stored?.source,
      shown: stored?.shown,
      asRecorded: stored?.entry.equals(entry.bytes),
      checkpoint,
      proof,
    };
  }

  async #covering(organization: string, size: number): Promise<StoredCheckpoint> {
    const found = await this.#options.checkpoints.covering(organization, size);
    if (found === undefined) throw this.#notSigned(organization);
    return found;
  }

  /**
   * Events stored below the tree's progress are never added later. A position beyond the tree may get an
   * event.
   */
  async #uncovered(organization: string, event: EventName): Promise<Problem> {
    if ('position' in event) return new Problem('not_found', 'The tree has no such position yet.');
    const isPassed = await this.#hasPassed(organization, event.seq);
    return isPassed ? uncovered('absent') : this.#notSigned(organization);
  }

  async #hasPassed(organization: string, seq: bigint): Promise<boolean> {
    const { storage, tiles } = this.#options;
    const watermark = watermarkOf(await readProgress(storage), organization);
    return seq < watermark || (await tiles.reaches(organization, seq));
  }

  #notSigned(organization: string): Problem {
    const withinMs = this.#options.signsWithinMs(organization);
    return withinMs === undefined ? uncovered('off') : uncovered('pending', withinMs);
  }

  /**
   * Proves that the checkpoint of `newer` events (default: the newest) continues the one of `older` events.
   */
  async consistency(organization: string, older: number, newer?: number): Promise<Consistency> {
    const to = await this.checkpoint(organization, newer);
    const from = await this.checkpoint(organization, Math.max(1, older));
    if (from.size > to.size) throw new Problem('not_found', 'The newer checkpoint has fewer events.');
    const hashes = await this.#hashes(organization, consistencyRanges(from.size, to.size));
    return { older: from, newer: to, hashes };
  }

  /**
   * The newest checkpoint, and the entries of the events by order number. Rejects with a Problem if it does not cover one of
   * them.
   */
  async covered(organization: string, seqs: readonly bigint[]): Promise<Covered> {
    const [checkpoint] = await this.#options.checkpoints.newest([organization]);
    if (checkpoint === undefined) throw notCovered(this.#notSigned(organization));
    const entries: PlacedEntry[] = [];
    for (let at = 0; at < seqs.length; at += limits.coveredAtOnce) {
      const some = seqs.slice(at, at + limits.coveredAtOnce);
      const found = await this.#tree.entriesOf(organization, some);
      for (const seq of some) {
        const entry = found.get(seq);
        if (entry === undefined) throw notCovered(await this.#uncovered(organization, { seq }));
        if (entry.position >= checkpoint.size) throw notCovered(this.#notSigned(organization));
        entries.push(entry);
      }
    }
    return { checkpoint, entries };
  }

  /** C2SP tlog-proof, in the order of the positions. */
  async proofs(
    organization: string,
    checkpoint: StoredCheckpoint,
    positions: readonly number[],
  ): Promise<string[]> {
    const ranges = positions.map((position) => inclusionRanges(position, checkpoint.size));
    const hashes = await this.#hashes(organization, ranges.flat());
    return ranges.map(({ length }, n) =>
      proofText({
        index: positions[n] as number,
        hashes: hashes.splice(0, length),
        checkpoint: checkpoint.text,
      }),
    );
  }

  /** Rejects with a Problem if this server's key is not published. */
  async signCase(organization: string, digest: Buffer): Promise<string> {
    const signer = this.#options.key.signerOf(organization);
    const { keys } = await this.keys(organization);
    if (!keys.some(({ verifierKey }) => verifierKey === signer.verifierKey))
      throw notCovered(uncovered('off'));
    return signer.sign(caseText(signer.name, digest));
  }

  async #hashes(organization: string, ranges: Parameters<TreeReader['hashes']>[1]): Promise<Uint8Array[]> {
    const hashes = await this.#tree.hashes(organization, ranges);
    if (hashes !== undefined) return hashes;
    throw new EngineError('refused', 'The tree has fewer events than its checkpoint');
  }

  async #stored(organization: string, seq: bigint): Promise<StoredEvent | undefined> {
    const { storage } = this.#options;
    const query = await eventsInOrder(storage, {
      columns: `source, hex(${shownHash}) AS hex, toUnixTimestamp64Micro(time) AS micros, toUInt16(expires) AS day, own`,
      where: 'org = {org:UUID} AND seq = {seq:UInt64}',
    });
    const [row] = await storage.readRows<
      Record<'source' | 'micros' | 'hex', string> & { day: number; own: boolean }
    >(query, { org: organization, seq }, { settings: byPlace });
    if (row === undefined) return undefined;
    const { source, micros: time, day: expires, own } = row;
    const shown = Buffer.from(row.hex, 'hex');
    const hash = eventHash({ source: Buffer.from(source), shown });
    return { source, shown, entry: encodeEntry({ seq, time: Number(time), expires, own, eventHash: hash }) };
  }
}

interface StoredEvent {
  readonly source: string;
  readonly shown: Buffer;
  readonly entry: Buffer;
}
