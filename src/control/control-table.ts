import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../base/errors/problem.ts';
import { formatMicros } from '../base/time/timestamp.ts';
import { everyReplicaOf, everywhere, requireMajority } from '../storage/cluster.ts';
import type { ControlTableName } from '../storage/control-rows.ts';
import type { Parameters, QueryOptions, Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';

/** Control rows read at once; a table of any size is read in pages of this. */
const controlPageRowsMax = 20_000;
/** Times that a row is put whose INSERT took half of `controlOverlapMs`. */
const controlPutTriesMax = 4;
/** Times that a change is tried while other processes change the same. */
const controlUpdateTriesMax = 12;
/** The wait before a try is random: up to this, times the number of the try. */
const controlUpdateWaitMs = 10;

type ControlRow = Readonly<Record<string, unknown>>;

/** How a member of an object stands in a table. */
interface Field<V> {
  /** What a SELECT names. */
  readonly select: string;
  /** Whether it only ever grows. */
  readonly isCounter?: boolean;
  read(row: ControlRow): V;
  write(value: V): ControlRow;
}

type Fields<T> = { readonly [Member in keyof T]: Field<T[Member]> };

/** A column whose JSON value is the member's, or is made of it and read back. */
export function field<V>(
  column: string,
  read: (value: never) => V = (value) => value,
  write: (value: V) => unknown = (value) => value,
): Field<V> {
  return {
    select: column,
    read: (row) => read(row[column] as never),
    write: (value) => ({ [column]: write(value) }),
  };
}

/** A Nullable column, whose NULL is undefined. */
export function optional<V>(column: string): Field<V | undefined> {
  return field<V | undefined>(
    column,
    (value: V | null) => value ?? undefined,
    (value) => value ?? null,
  );
}

/** A number that each change of it makes larger. */
export function counter(column: string): Field<number> {
  return { ...field<number>(column), isCounter: true };
}

/** The column by which the newest row of an id is known. */
export function version(): Field<number> {
  return field('version', Number);
}

/** A DateTime64(6) column, UTC, as Unix microseconds. */
export function time(column: string): Field<number> {
  const { select, read, write } = optionalTime(column);
  return { select, read: (row) => read(row) as number, write };
}

/** The same, where NULL is undefined. */
export function optionalTime(column: string): Field<number | undefined> {
  const alias = `${column}_micros`;
  return {
    select: `toUnixTimestamp64Micro(${column}) AS ${alias}`,
    read: ({ [alias]: micros }) => (micros === null ? undefined : Number(micros)),
    write: (micros) => ({
      [column]: micros === undefined ? null : formatMicros(micros).replace('T', ' ').slice(0, -1),
    }),
  };
}

/** What the rows of all control tables have. */
interface Versioned {
  readonly id: string;
  readonly version: number;
}

/** The objects of a table. */
export type RowOf<Table> = Table extends ControlTable<infer T> ? Readonly<T> : never;

/** A control table of the engine, whose rows are objects. Of every id the row with the highest version counts. */
export class ControlTable<T extends Versioned> {
  readonly name: ControlTableName;
  readonly #idType: 'UUID' | 'String';
  readonly #fields: readonly [string, Field<unknown>][];
  readonly #columns: string;

  constructor(name: ControlTableName, idType: 'UUID' | 'String', fields: Fields<T>) {
    this.name = name;
    this.#idType = idType;
    this.#fields = Object.entries(fields);
    this.#columns = this.#fields.map(([, { select }]) => select).join(', ');
  }

  /** The rows that meet a condition (SQL), as they stand now. */
  select(storage: Storage, condition: string, parameters: Parameters = {}): Promise<T[]> {
    return this.#read(storage, condition, parameters);
  }

  /**
   * The newest row of an id, also where the replica of a cluster that is asked has not got it yet: what was written is on
   * most of them. Rejects while fewer answer.
   */
  async newest(storage: Storage, id: string): Promise<T | undefined> {
    await requireMajority(storage);
    const condition = `id = {id:${this.#idType}} ORDER BY version DESC LIMIT 1`;
    const from = everyReplicaOf(storage, this.name);
    const [row] = await this.#read(storage, condition, { id }, { settings: everywhere }, from);
    return row;
  }

  /**
   * A row is dated when its INSERT begins. One that took so long that processes no longer look back so far is put once more:
   * they would not see it before their next start, and a key that was revoked would go on there.
   */
  async put(storage: Storage, value: T): Promise<void> {
    for (let tries = 0; tries < controlPutTriesMax; tries += 1) {
      const begunMs = performance.now();
      await storage.insertRows(this.name, [this.#rowOf(value)]);
      if (performance.now() - begunMs < limits.controlOverlapMs / 2) return;
    }
    throw new Problem('unavailable', 'The engine is too slow for a change.', { retryAfterSeconds: 1 });
  }

  /**
   * Gives some members of an object other values, and resolves with what there is of it then. A `change` that depends on
   * what it replaces (a counter, say) is a function of that.
   *
   * Rows are written whole and there are no transactions, so another process may have written one that lacks this change,
   * or that this one lacks. Of two that write together whoever looks last sees both: it makes its change again, to the
   * other's row. Members that `change` leaves as `current` has them are the other's. Throws Problem `unavailable` where
   * others never stop, and while the table has lost what this would be made of.
   */
  async update<C extends Partial<T>>(
    storage: Storage,
    current: T,
    change: C | ((current: T) => C),
    nowMicros: number,
  ): Promise<T & C> {
    const changeOf = (base: T): Partial<T> =>
      typeof change === 'function' ? this.#differing(base, change(base)) : this.#differing(current, change);
    const own = new Set<string>();
    // Asked before the table, which had whatever the copy has.
    const copied = await storage.copiedVersion(this.name, current.id);
    let base = (await this.#writtenAfter(storage, current)).at(-1) ?? current;
    // A change of an older row would bring back what was revoked since.
    if (copied !== undefined && copied > base.version)
      throw new Problem('unavailable', 'What is stored of this is being put back.', { retryAfterSeconds: 1 });
    let lowest = 0;
    for (let attempt = 1; attempt <= controlUpdateTriesMax; attempt += 1) {
      const wanted = changeOf(base);
      // Above all that was seen, also where the clock of this machine is behind the last writer's.
      const written: T = { ...base, ...wanted, version: Math.max(nowMicros, base.version + 1, lowest) };
      own.add(this.#textOf(written));
      await this.put(storage, written);
      const others = (await this.#writtenAfter(storage, base)).filter((row) => !own.has(this.#textOf(row)));
      const newest = others.at(-1);
      if (newest === undefined || this.#isSame(newest, written)) return written as T & C;
      if (newest.version > written.version && this.#has(newest, wanted)) return newest as T & C;
      base = newest;
      lowest = written.version + 1;
      // Two that keep step with each other would go on for ever.
      await sleep(Math.random() * attempt * controlUpdateWaitMs);
    }
    throw new Problem('unavailable', 'Others change the same all the time.', { retryAfterSeconds: 1 });
  }

  /** Rows of the same id with a higher version, oldest first: those that a newer one replaces are among them for a while. */
  async #writtenAfter(storage: Storage, { id, version }: T): Promise<T[]> {
    await requireMajority(storage);
    const condition = `id = {id:${this.#idType}} AND version > {version:UInt64} ORDER BY version`;
    const from = everyReplicaOf(storage, this.name);
    return this.#read(storage, condition, { id, version }, { settings: everywhere }, from);
  }

  #rowOf(value: T): object {
    const columns = this.#fields.map(([member, { write }]) => write(value[member as keyof T]));
    return Object.assign({}, ...columns) as object;
  }

  #textOf(value: T): string {
    return JSON.stringify(this.#rowOf(value));
  }

  #isSame(one: T, other: T): boolean {
    return this.#textOf({ ...one, version: 0 }) === this.#textOf({ ...other, version: 0 });
  }

  #differing(base: T, change: Partial<T>): Partial<T> {
    const differs = ([member, value]: [string, unknown]) => {
      const known = this.#fields.find(([name]) => name === member)?.[1];
      const before = base[member as keyof T];
      return (
        member !== 'version' && JSON.stringify(known?.write(before)) !== JSON.stringify(known?.write(value))
      );
    };
    return Object.fromEntries(Object.entries(change).filter(differs)) as Partial<T>;
  }

  /** Whether a row has a change, be it by another process that made its own to the row with this one. */
  #has(row: T, change: Partial<T>): boolean {
    return Object.entries(this.#differing(row, change)).every(([member, value]) => {
      const known = this.#fields.find(([name]) => name === member)?.[1];
      return known?.isCounter === true && Number(row[member as keyof T]) >= Number(value);
    });
  }

  /**
   * What was written at or after a moment of the engine's clock. Page by page in the order of the key, so that a large
   * table never needs one large answer.
   */
  async writtenSince(storage: Storage, sinceMicros: number, options: QueryOptions): Promise<T[]> {
    const found: T[] = [];
    for (;;) {
      const after = found.at(-1)?.id;
      const condition = [
        'written >= fromUnixTimestamp64Micro({since:Int64})',
        ...(after === undefined ? [] : [`id > {after:${this.#idType}}`]),
      ].join(' AND ');
      const query = `${condition} ORDER BY id LIMIT ${controlPageRowsMax}`;
      const parameters = { since: sinceMicros, ...(after !== undefined && { after }) };
      const page = await this.#read(storage, query, parameters, options);
      found.push(...page);
      if (page.length < controlPageRowsMax) return found;
    }
  }

  async #read(
    storage: Storage,
    condition: string,
    parameters: Parameters,
    options: QueryOptions = {},
    from = `${this.name} FINAL`,
  ): Promise<T[]> {
    const query = `SELECT ${this.#columns} FROM ${from} WHERE ${condition}`;
    const rows = await storage.rows<ControlRow>(query, parameters, options);
    return rows.map((row) => {
      const value: Record<string, unknown> = {};
      for (const [member, { read }] of this.#fields) value[member] = read(row);
      return value as unknown as T;
    });
  }
}

/**
 * Puts a row that must be the only one that `find` finds; throws `taken` where it is not. There are no transactions: of
 * two that passed the check together, whoever looks last sees both and withdraws.
 */
export async function putUnique<T extends Versioned & { readonly deletedMicros: number | undefined }>(
  table: ControlTable<T>,
  storage: Storage,
  value: T,
  find: () => Promise<readonly T[]>,
  taken: Problem,
): Promise<void> {
  if ((await find()).length > 0) throw taken;
  await table.put(storage, value);
  if ((await find()).every(({ id }) => id === value.id)) return;
  await table.put(storage, { ...value, deletedMicros: value.version, version: value.version + 1 });
  throw taken;
}
