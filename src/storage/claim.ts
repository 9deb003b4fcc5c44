import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from './limits.ts';
import type { Storage } from './storage.ts';

/** A table of claims: (a column for what is claimed, `instance` UUID, `seen` DateTime64 with a default of now). */
export interface ClaimTable {
  readonly table: string;
  readonly column: string;
  readonly type: 'String' | 'UInt8';
  /** A claim that was not renewed for so long is void. */
  readonly lastsMs: number;
}

/** A row by which one of several processes that share an engine has something for itself. */
export class Claim {
  readonly #storage: Storage;
  readonly #table: ClaimTable;
  readonly #row: Readonly<Record<string, string | number>>;
  readonly #parameters: { readonly what: string | number; readonly instance: string };

  constructor(storage: Storage, table: ClaimTable, what: string | number, instance: string) {
    this.#storage = storage;
    this.#table = table;
    this.#row = { [table.column]: what, instance };
    this.#parameters = { what, instance };
  }

  /**
   * Puts the claim down and looks whether it holds. Of claims made at once the one of the lowest instance does; one
   * that was clearly there before has been acted on already.
   */
  async take(): Promise<boolean> {
    await this.renew();
    await sleep(limits.claimSettleMs);
    const { instance: own } = this.#parameters;
    const isLost = (await this.rivals()).some(
      ({ instance, age }) => Number(age) > limits.claimSettleMs * 2 || instance < own,
    );
    if (isLost) await this.withdraw();
    return !isLost;
  }

  renew(): Promise<void> {
    return this.#storage.insertRows(this.#table.table, [this.#row]);
  }

  withdraw(): Promise<void> {
    const { table, column, type } = this.#table;
    return this.#storage.command(
      `DELETE FROM ${table} WHERE ${column} = {what:${type}} AND instance = {instance:UUID}`,
      this.#parameters,
      // By itself the engine waits for all replicas, also for one that is down.
      { settings: { lightweight_deletes_sync: 1 } },
    );
  }

  /** Claims of other processes on the same; `age` in milliseconds. */
  rivals(): Promise<{ readonly instance: string; readonly age: string }[]> {
    const { table, column, type, lastsMs } = this.#table;
    return this.#storage.rows(
      `SELECT instance, toString(dateDiff('millisecond', seen, now64(3))) AS age FROM ${table} FINAL
       WHERE ${column} = {what:${type}} AND instance != {instance:UUID} AND seen > now64(3) - toIntervalMillisecond(${lastsMs})`,
      this.#parameters,
    );
  }
}
