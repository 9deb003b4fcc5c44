import type { Storage } from '../storage/storage.ts';
import { type Checkpoint, parseCheckpoint } from '../tlog/checkpoint.ts';

/** A checkpoint of an organization's tree, to be stored. */
export interface SignedCheckpoint {
  readonly organization: string;
  readonly size: number;
  readonly note: string;
}

/** A stored checkpoint; `signedMicros` is when it was stored, Unix microseconds by the engine's clock. */
export interface StoredCheckpoint extends Checkpoint {
  readonly organization: string;
  readonly signedMicros: number;
}

interface Row {
  readonly org: string;
  readonly note: string;
  readonly signed_micros: string;
}

function toCheckpoint({ org, note, signed_micros: signed }: Row): StoredCheckpoint {
  return { ...parseCheckpoint(note), organization: org, signedMicros: Number(signed) };
}

const columns = 'org, note, toUnixTimestamp64Micro(signed) AS signed_micros';

/** Every checkpoint that was signed. Every method rejects with EngineError, or NoteError for what is none. */
export class CheckpointTable {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async insert(checkpoints: readonly SignedCheckpoint[]): Promise<void> {
    const rows = checkpoints.map(({ organization, size, note }) => ({ org: organization, size, note }));
    await this.#storage.insertRows('evidence_checkpoints', rows);
  }

  /** The newest of each of these organizations that has any. */
  async newest(organizations: readonly string[]): Promise<StoredCheckpoint[]> {
    const rows = await this.#storage.readRows<Row>(
      `SELECT ${columns} FROM evidence_checkpoints WHERE (org, size) IN (SELECT org, max(size)
        FROM evidence_checkpoints WHERE org IN {organizations:Array(UUID)} GROUP BY org)
       AND org IN {organizations:Array(UUID)} ORDER BY org, signed DESC LIMIT 1 BY org`,
      { organizations },
    );
    return rows.map(toCheckpoint);
  }

  /** The oldest that covers a tree of `size`; undefined where none does. */
  async covering(organization: string, size: number): Promise<StoredCheckpoint | undefined> {
    const [row] = await this.#storage.readRows<Row>(
      `SELECT ${columns} FROM evidence_checkpoints WHERE org = {organization:UUID} AND size >= {size:UInt64}
       ORDER BY size, signed DESC LIMIT 1`,
      { organization, size },
    );
    return row === undefined ? undefined : toCheckpoint(row);
  }

  /** The next of an organization by size, at most `rows` of them. */
  async after(organization: string, size: number, rows: number): Promise<StoredCheckpoint[]> {
    const found = await this.#storage.readRows<Row>(
      `SELECT ${columns} FROM evidence_checkpoints WHERE org = {organization:UUID} AND size > {size:UInt64}
       ORDER BY size, signed DESC LIMIT 1 BY size LIMIT {rows:UInt32}`,
      { organization, size, rows },
    );
    return found.map(toCheckpoint);
  }
}
