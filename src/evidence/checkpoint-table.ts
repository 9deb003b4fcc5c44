import { everyReplicaOf, everywhere } from '../storage/cluster.ts';
import type { Storage } from '../storage/storage.ts';
import { type Checkpoint, parseCheckpoint } from '../tlog/checkpoint.ts';

export interface SignedCheckpoint {
  readonly organization: string;
  readonly size: number;
  readonly note: string;
}

/** By the engine's clock, Unix microseconds. */
export interface StoredCheckpoint extends Checkpoint {
  readonly organization: string;
  readonly signedMicros: number;
}

interface CheckpointRow {
  readonly org: string;
  readonly note: string;
  readonly signed_micros: string;
}

function toCheckpoint({ org, note, signed_micros: signed }: CheckpointRow): StoredCheckpoint {
  return { ...parseCheckpoint(note), organization: org, signedMicros: Number(signed) };
}

const columns = 'org, note, toUnixTimestamp64Micro(signed) AS signed_micros';

/** All signed checkpoints. Methods reject with EngineError, or NoteError for a malformed one. */
export class CheckpointTable {
  readonly #storage: Storage;
  readonly #table: string;

  /** `every`: on all replicas, for whoever adds to it. */
  constructor(storage: Storage, reads: 'any' | 'every' = 'any') {
    this.#storage = storage;
    this.#table = reads === 'any' ? 'evidence_checkpoints' : everyReplicaOf(storage, 'evidence_checkpoints');
  }

  async insert(checkpoints: readonly SignedCheckpoint[]): Promise<void> {
    const rows = checkpoints.map(({ organization, size, note }) => ({ org: organization, size, note }));
    await this.#storage.insertRows('evidence_checkpoints', rows);
  }

  async newest(organizations: readonly string[]): Promise<StoredCheckpoint[]> {
    const rows = await this.#storage.readRows<CheckpointRow>(
      `SELECT ${columns} FROM ${this.#table} WHERE (org, size) GLOBAL IN (SELECT org, max(size)
        FROM ${this.#table} WHERE org IN {organizations:Array(UUID)} GROUP BY org)
       AND org IN {organizations:Array(UUID)} ORDER BY org, signed DESC LIMIT 1 BY org`,
      { organizations },
      { settings: everywhere },
    );
    return rows.map(toCheckpoint);
  }

  /** The oldest with at least `size` entries. */
  async covering(organization: string, size: number): Promise<StoredCheckpoint | undefined> {
    const [row] = await this.#storage.readRows<CheckpointRow>(
      `SELECT ${columns} FROM ${this.#table} WHERE org = {organization:UUID} AND size >= {size:UInt64}
       ORDER BY size, signed DESC LIMIT 1`,
      { organization, size },
    );
    return row === undefined ? undefined : toCheckpoint(row);
  }

  /** The newest, and others spread evenly: at most `rows`, by size. */
  async spread(organization: string, rows: number): Promise<StoredCheckpoint[]> {
    const found = await this.#storage.readRows<CheckpointRow>(
      `SELECT ${columns} FROM (
         SELECT *, row_number() OVER (ORDER BY size DESC) AS n, count() OVER () AS checkpoints FROM (
           SELECT * FROM ${this.#table} WHERE org = {organization:UUID}
           ORDER BY size, signed DESC LIMIT 1 BY size))
       WHERE (n - 1) % greatest(1, ceil(checkpoints / {rows:UInt32})) = 0 ORDER BY size`,
      { organization, rows },
    );
    return found.map(toCheckpoint);
  }
}
