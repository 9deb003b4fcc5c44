import { randomUUID } from 'node:crypto';
import { renderMigration } from '../../storage/render-migration.ts';
import type { Storage } from '../../storage/storage.ts';

/**
 * In the source it names the source (`source`); in the target it says whose data that holds, and how far the copy has
 * come: `through` is the place in the order of ingest below which both had the same when it was written.
 */
const recordsTable = `CREATE TABLE IF NOT EXISTS data_moves {{on_cluster}} (
  id UUID, state LowCardinality(String), through UInt64, version UInt64
) ENGINE = {{ReplacingMergeTree(version)}} ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;`;

type State = 'source' | 'copying' | 'finished';

export interface MoveRecord {
  readonly id: string;
  readonly state: State;
  readonly through: bigint;
}

/** Records of moves in one engine. Every method rejects with EngineError. */
export class MoveRecords {
  readonly #storage: Storage;

  private constructor(storage: Storage) {
    this.#storage = storage;
  }

  static async open(storage: Storage, cluster: string | undefined): Promise<MoveRecords> {
    const target = { database: storage.database, cluster };
    for (const statement of renderMigration(recordsTable, target)) await storage.command(statement);
    return new MoveRecords(storage);
  }

  async all(): Promise<MoveRecord[]> {
    const rows = await this.#storage.rows<{ id: string; state: State; through: string }>(
      'SELECT id, state, through FROM data_moves FINAL',
    );
    return rows.map(({ id, state, through }) => ({ id, state, through: BigInt(through) }));
  }

  async write({ id, state, through }: MoveRecord): Promise<void> {
    // Of the engine, and rising, as its clock may be set back.
    await this.#storage.command(
      `INSERT INTO data_moves SELECT {id:UUID}, {state:String}, {through:UInt64},
         greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), (SELECT max(version) + 1 FROM data_moves))`,
      { id, state, through },
    );
  }

  /** The id of this engine as a source: another one for each engine. */
  async idOfSource(): Promise<string> {
    const found = (await this.all()).find(({ state }) => state === 'source');
    if (found !== undefined) return found.id;
    const id = randomUUID();
    await this.write({ id, state: 'source', through: 0n });
    return id;
  }
}
