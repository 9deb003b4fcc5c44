import { toReadable } from '../../base/byte-flow.ts';
import { eventColumns } from '../../base/event-columns.ts';
import type { Settings } from '../../storage/storage.ts';
import { limits } from '../limits.ts';
import { isOther, type Sides } from './comparison.ts';
import { patiently } from './patience.ts';
import { digestOf, fromTable, readSettings, type Scope, slicesOf } from './slices.ts';
import type { MovedTable } from './tables.ts';

/** Types that every release of the engine reads alike, a few megabytes at a time. */
export const sendSettings: Settings = {
  ...readSettings,
  low_cardinality_allow_in_native_format: 0,
  max_threads: 1,
  max_block_size: 16_384,
  output_format_parallel_formatting: 0,
};

/** A slice is one part, or a few where its events are large. */
export const insertSettings: Settings = {
  max_insert_threads: 1,
  min_insert_block_size_rows: 131_072,
  min_insert_block_size_bytes: 134_217_728,
};

/** Columns of the table of events as `input()` wants them. */
export function structureOf(columns: readonly string[]): string {
  return Object.entries(eventColumns)
    .filter(([name]) => columns.includes(name))
    .map(([name, type]) => `${name} ${type.replaceAll("'", "\\'")}`)
    .join(', ');
}

/**
 * Copies rows as blocks of the engine's Native format, which pass through this process: both engines need to know nothing
 * of each other. A slice that the target has already is passed over; of one that it has in part, after a copy that was cut
 * short, only the absent rows are stored.
 */
export class Copy {
  readonly #sides: Sides;
  readonly #queryId: string;

  /** `queryId` is the same for all copies of one move, of which one at a time runs. */
  constructor(sides: Sides, queryId: string) {
    this.#sides = sides;
    this.#queryId = queryId;
  }

  /**
   * Ends the INSERT that an earlier run, or attempt, has left running at the target, and waits for its end: the question
   * takes its place. What it has stored is seen by then.
   */
  async endEarlier(): Promise<void> {
    const settings = {
      replace_running_query: 1,
      replace_running_query_max_wait_ms: limits.moveInsertEndMsMax,
    };
    await this.#sides.target.rows(
      'SELECT 1',
      {},
      { queryId: this.#queryId, settings, timeoutMs: limits.moveQueryMsMax },
    );
  }

  /** The rows of a scope; `isFresh`: the target has none of them. `onRows` hears how many were stored at once. */
  async rows(
    table: MovedTable,
    scope: Scope,
    isFresh: boolean,
    onRows: (rows: number) => void = () => {},
  ): Promise<void> {
    for await (const slice of slicesOf(this.#sides.source, table, scope)) {
      const rows = await patiently((attempt) => this.#slice(table, slice, isFresh && attempt === 0));
      onRows(rows);
    }
  }

  async #slice(table: MovedTable, slice: Scope, isFresh: boolean): Promise<number> {
    const { source, target } = this.#sides;
    const here = await digestOf(source, table, slice);
    if (!isFresh) await this.endEarlier();
    const there = isFresh ? { rows: 0, mark: '0' } : await digestOf(target, table, slice);
    if (here.rows === 0 || !isOther(here, there)) return 0;
    await this.#send(table, slice, there.rows > 0);
    return Math.max(0, here.rows - there.rows);
  }

  async #send(table: MovedTable, slice: Scope, isPartlyThere: boolean): Promise<void> {
    const { source, target } = this.#sides;
    const columns = table.columns.join(', ');
    const flow = await source.flow(
      `SELECT ${columns} FROM ${fromTable(table)} WHERE ${slice.where} FORMAT Native`,
      slice.parameters,
      { settings: sendSettings, timeoutMs: limits.moveSilenceMsMax },
    );
    // Of a table whose rows replace each other, one that is sent twice is there once.
    const select =
      isPartlyThere && !table.isReplacing
        ? ` SELECT ${columns} FROM input('${structureOf(table.columns)}') WHERE seq NOT IN (SELECT seq FROM ${table.name} WHERE ${slice.where})`
        : '';
    const body = toReadable(flow);
    try {
      await target.insertNative(
        `INSERT INTO ${table.name} (${columns})${select} FORMAT Native`,
        body,
        { queryId: this.#queryId, settings: insertSettings, timeoutMs: limits.moveQueryMsMax },
        select === '' ? {} : slice.parameters,
      );
    } finally {
      body.destroy();
    }
  }
}
