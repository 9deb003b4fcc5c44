import { limits } from './limits.ts';
import type { Storage } from './storage.ts';

/** A row of a log, see migration 0003. */
interface LogRow {
  readonly newest: number;
  readonly waiting: number;
  readonly isOpen: boolean;
}

/** What the engine knows of one write-ahead log. All reject with EngineError. */
export class LogTable {
  readonly #storage: Storage;
  readonly #log: string;

  constructor(storage: Storage, log: string) {
    this.#storage = storage;
    this.#log = log;
  }

  /** Undefined where nobody has told of it. */
  async read(): Promise<(LogRow & { readonly notedAt: string }) | undefined> {
    const [row] = await this.#storage.rows<{
      newest: string;
      waiting: number;
      is_open: boolean;
      noted_at: string;
    }>(
      `SELECT toString(newest) AS newest, waiting, is_open, formatDateTime(noted, '%FT%TZ', 'UTC') AS noted_at
       FROM logs FINAL WHERE log = {log:String} LIMIT 1`,
      { log: this.#log },
    );
    if (row === undefined) return undefined;
    return {
      newest: Number(row.newest),
      waiting: row.waiting,
      isOpen: row.is_open,
      notedAt: row.noted_at,
    };
  }

  /** Versions rise even when the engine's clock is set back. */
  async write({ newest, waiting, isOpen }: LogRow): Promise<void> {
    await this.#storage.command(
      `INSERT INTO logs (log, newest, waiting, is_open, version)
       SELECT {log:String}, {newest:UInt64}, {waiting:UInt32}, {isOpen:Bool},
         greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), last + 1)
       FROM (SELECT max(version) AS last FROM logs WHERE log = {log:String})`,
      { log: this.#log, newest, waiting, isOpen },
      { timeoutMs: limits.logNoteMsMax },
    );
  }
}
