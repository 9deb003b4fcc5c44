import type { Storage } from '../../storage/storage.ts';
import { digestOf, type Digest, markOf, reading, type Scope } from './slices.ts';
import { eventsTable, type MovedTable } from './tables.ts';

/** Where from, and where to. */
export interface Sides {
  readonly source: Storage;
  readonly target: Storage;
}

/** A stretch of the order of ingest. */
export interface Stretch {
  readonly from: bigint;
  readonly before: bigint;
}

/** Events that were recorded in a month, as far as they are in a stretch, and how many of them each side has. */
export interface Month extends Stretch {
  /** Such as 202403. */
  readonly month: number;
  readonly here: number;
  readonly there: number;
}

/** What both sides have where they do not have the same: events of an organization and month, or a table. */
export interface Difference {
  readonly table: string;
  readonly month?: number;
  /** An id. */
  readonly organization?: string;
  readonly here: Digest;
  readonly there: Digest;
}

/** The month of recording by `seq`, as it divides the table. */
export const recordingMonth =
  "toYYYYMM(fromUnixTimestamp64Milli(toInt64(bitShiftRight(seq, 26)) * 10 + 1577836800000, 'UTC'))";
const none: Digest = { rows: 0, mark: '0' };

export function scopeOf(table: MovedTable, day: string, stretch?: Stretch): Scope {
  if (stretch === undefined) return { where: table.alive, parameters: { day } };
  return {
    where: `seq >= {from:UInt64} AND seq < {before:UInt64} AND ${table.alive}`,
    parameters: { day, ...stretch },
  };
}

/** Tells what source and target do not have alike. Every method rejects with EngineError. */
export class Comparison {
  readonly #sides: Sides;

  constructor(sides: Sides) {
    this.#sides = sides;
  }

  /**
   * The last day whose rows may go while it is today: the later one of both engines, as each removes rows by its own
   * time zone.
   */
  async day(): Promise<string> {
    const { source, target } = this.#sides;
    const ask = async (storage: Storage): Promise<string> =>
      (await storage.rows<{ day: string }>('SELECT toString(today()) AS day', {}, reading))[0]?.day ?? '';
    const [here, there] = await Promise.all([ask(source), ask(target)]);
    return here > there ? here : there;
  }

  /** The months in which either side has events of a stretch. */
  async months(stretch: Stretch, day: string): Promise<Month[]> {
    const { where, parameters } = scopeOf(eventsTable, day, stretch);
    const query =
      `SELECT ${recordingMonth} AS month, toString(min(seq)) AS low, toString(max(seq)) AS high, ` +
      `toString(count()) AS rows FROM events WHERE ${where} GROUP BY month ORDER BY month`;
    const ask = (storage: Storage) =>
      storage.rows<Record<'low' | 'high' | 'rows', string> & { month: number }>(query, parameters, reading);
    const [here, there] = await Promise.all([ask(this.#sides.source), ask(this.#sides.target)]);
    const names = [...new Set([...here, ...there].map(({ month }) => month))].sort((a, b) => a - b);
    return names.map((name) => {
      const [one, other] = [here, there].map((rows) => rows.find(({ month }) => month === name));
      const found = [one, other].filter((row) => row !== undefined);
      const lows = found.map(({ low }) => BigInt(low));
      const highs = found.map(({ high }) => BigInt(high));
      return {
        month: name,
        from: lows.reduce((least, low) => (low < least ? low : least)),
        before: highs.reduce((most, high) => (high > most ? high : most)) + 1n,
        here: Number(one?.rows ?? 0),
        there: Number(other?.rows ?? 0),
      };
    });
  }

  /**
   * The organizations that do not have the same events of a month on both sides. `place` compares by time and order
   * number, `content` every column: source event, rendering, filters.
   */
  async organizations(month: Month, day: string, what: 'place' | 'content'): Promise<Difference[]> {
    const { where, parameters } = scopeOf(eventsTable, day, month);
    const query =
      `SELECT toString(org) AS organization, toString(count()) AS rows, toString(${markOf(eventsTable, what)}) AS mark ` +
      `FROM events WHERE ${where} GROUP BY org`;
    const ask = async (storage: Storage) =>
      new Map(
        (
          await storage.readRows<Record<'organization' | 'rows' | 'mark', string>>(query, parameters, reading)
        ).map(({ organization, rows, mark }) => [organization, { rows: Number(rows), mark }]),
      );
    const [here, there] = await Promise.all([ask(this.#sides.source), ask(this.#sides.target)]);
    const ids = [...new Set([...here.keys(), ...there.keys()])];
    return ids
      .map((organization) => ({
        table: eventsTable.name,
        month: month.month,
        organization,
        here: here.get(organization) ?? none,
        there: there.get(organization) ?? none,
      }))
      .filter(({ here, there }) => isOther(here, there));
  }

  /** Both sides of a table other than that of events, where they differ. */
  async table(table: MovedTable, day: string): Promise<Difference[]> {
    const scope = scopeOf(table, day);
    const { source, target } = this.#sides;
    const [here, there] = await Promise.all([digestOf(source, table, scope), digestOf(target, table, scope)]);
    return isOther(here, there) ? [{ table: table.name, here, there }] : [];
  }
}

export function isOther(here: Digest, there: Digest): boolean {
  return here.rows !== there.rows || here.mark !== there.mark;
}
