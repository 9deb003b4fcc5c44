import { EngineError } from '../base/errors/engine-error.ts';
import type { ControlCopy, CopyContent } from './control-copy.ts';
import {
  type ControlRow,
  type ControlTableName,
  controlTableNames,
  isAlive,
  replaces,
} from './control-rows.ts';
import { type ActivePart, damagedParts, detachPart } from './parts.ts';
import { operatorWords } from './exception.ts';
import type { Storage } from './storage.ts';

const controlCompareRowsMax = 20_000;
const controlQueryMsMax = 600_000;

/** What differs between a control table and its copy. */
export interface ControlDifference {
  readonly table: ControlTableName;
  /** Rows of the copy that the table has not, or only in an older version. */
  readonly lost: readonly ControlRow[];
  /** Rows of the table that are newer than in the copy. */
  readonly newer: readonly ControlRow[];
  /** Rows that somebody is removing for good: the copy has none of them any more. */
  readonly leaving: number;
  /** While there are any the table cannot be compared. */
  readonly badParts: readonly ActivePart[];
}

/** What became of a control table. */
export interface MendedTable {
  readonly table: ControlTableName;
  /** Rows that were put back from the copy. */
  readonly putBack: number;
  /** Parts that were taken out as they could not be read. */
  readonly takenOut: readonly string[];
  /** Why it is not mended; undefined: it is. */
  readonly unmended: string | undefined;
}

export interface Mended {
  /** Tables that had lost something; all others are as their copy. */
  readonly tables: readonly MendedTable[];
  /** What was wrong with the copy, which is made anew; undefined: nothing. */
  readonly copy: string | undefined;
}

interface Sides {
  readonly storage: Storage;
  readonly copy: ControlCopy;
}

const timeText = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').slice(0, 19);

/**
 * Holds a control table against its copy. The copy is read first: it never has what the table has not had, so nothing that
 * is written meanwhile is taken for lost. Rejects with EngineError.
 */
async function differenceOf(
  storage: Storage,
  table: ControlTableName,
  { rows, isWhole, isForgotten }: CopyContent,
): Promise<ControlDifference> {
  const copied = rows.get(table) ?? new Map<string, ControlRow>();
  let stored: Map<string, ControlRow>;
  try {
    stored = await rowsOf(storage, table);
  } catch (error) {
    const badParts = error instanceof EngineError ? await damagedParts(storage, table) : [];
    if (badParts.length === 0) throw error;
    return { table, lost: [], newer: [], leaving: 0, badParts };
  }
  const now = timeText(Date.now());
  const lost = [...copied.values()].filter((row) => {
    const found = stored.get(row.id);
    // It may have been taken back by a line that cannot be read any more.
    if (table === 'deletions' && found === undefined && !isWhole) return false;
    return isAlive(table, row, now) && replaces(table, row, found);
  });
  const found = [...stored.values()].filter(
    (row) => isAlive(table, row, now) && replaces(table, row, copied.get(row.id)),
  );
  const newer = found.filter((row) => !isForgotten(table, row));
  return { table, lost, newer, leaving: found.length - newer.length, badParts: [] };
}

/** Reads each column: a damaged `written` ends reads, too, those of a start among them. */
async function rowsOf(storage: Storage, table: ControlTableName): Promise<Map<string, ControlRow>> {
  const found = new Map<string, ControlRow>();
  for (let after: string | undefined; ; ) {
    const rows = await storage.rows<ControlRow>(
      `SELECT * EXCEPT written FROM ${table} FINAL WHERE ignore(written) = 0 ${after === undefined ? '' : 'AND toString(id) > {after:String}'}
       ORDER BY toString(id) LIMIT ${controlCompareRowsMax}`,
      after === undefined ? {} : { after },
      { timeoutMs: controlQueryMsMax },
    );
    for (const row of rows) found.set(row.id, row);
    if (rows.length < controlCompareRowsMax) return found;
    after = rows.at(-1)?.id;
  }
}

/** All control tables beside their copy, without changing anything. Rejects with EngineError. */
export async function compareControlData({ storage, copy }: Sides) {
  const content = await copy.content();
  const differences: ControlDifference[] = [];
  for (const table of controlTableNames) differences.push(await differenceOf(storage, table, content));
  return { differences, content };
}

/**
 * Makes control tables and copy alike: puts back what a table has lost, takes out what cannot be read of it, and makes a
 * copy that is missing, damaged or behind anew. Where neither has what was in a damaged part, nothing is taken out
 * unless `evenLost`. One process at a time may do this: the one that runs the engine. Rejects with EngineError.
 */
export async function mendControlData(sides: Sides, evenLost = false): Promise<Mended> {
  const { storage, copy } = sides;
  const { differences, content } = await compareControlData(sides);
  const tables: MendedTable[] = [];
  for (const { badParts: unreadable, ...difference } of differences) {
    const { table, lost, newer } = difference;
    if (newer.length > 0) await copy.put(table, newer);
    // Reads pass over some files of a part: those are looked at when an operator has asked for it.
    const badParts = evenLost && unreadable.length === 0 ? await damagedParts(storage, table) : unreadable;
    if (lost.length > 0 || badParts.length > 0)
      tables.push(await mendTable(sides, { ...difference, badParts }, content.isWhole || evenLost));
  }
  const isReadable = tables.every(({ unmended }) => unmended === undefined);
  // The rows of a damaged table are in its copy alone, however damaged that is.
  if (isReadable && content.isDue) await renewCopy(storage, copy);
  const hasRows = differences.some(({ newer }) => newer.length > 0);
  return { tables, copy: wordsOf(content, hasRows) };
}

function wordsOf({ isThere, isWhole, damagedLines }: CopyContent, hasRows: boolean): string | undefined {
  if (damagedLines > 0) return `${damagedLines} of its lines were damaged`;
  if (!isThere) return hasRows ? 'it was not there' : undefined;
  return isWhole ? undefined : 'it was not whole';
}

async function mendTable(
  { storage, copy }: Sides,
  { table, lost: found, badParts }: ControlDifference,
  mayTakeOut: boolean,
): Promise<MendedTable> {
  const takenOut = badParts.map(({ name }) => name);
  const none = { table, putBack: 0, takenOut: [] };
  try {
    if (badParts.length > 0 && !mayTakeOut) {
      const unmended = `cannot be read (part ${takenOut.join(', ')}), and there is no whole copy of it`;
      return { ...none, unmended };
    }
    for (const part of badParts) await detachPart(storage, part);
    const lost =
      badParts.length === 0 ? found : (await differenceOf(storage, table, await copy.content())).lost;
    // What was removed for good meanwhile is not lost.
    const { rows } = await copy.content();
    const still = lost.filter(({ id }) => rows.get(table)?.has(id) === true);
    await storage.insertRows(table, still);
    return { table, putBack: still.length, takenOut, unmended: undefined };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return { ...none, unmended: `could not be mended: ${operatorWords(error)}` };
  }
}

/**
 * Writes the copy anew, with what counts of the tables and of itself; not while a removal is under way: without the line that
 * says so its rows would count as new, and once they are gone as lost.
 */
async function renewCopy(storage: Storage, copy: ControlCopy): Promise<void> {
  const { content, differences } = await compareControlData({ storage, copy });
  if (differences.some(({ leaving }) => leaving > 0)) return;
  const rows = new Map(controlTableNames.map((table) => [table, new Map(content.rows.get(table))]));
  for (const { table, newer } of differences) for (const row of newer) rows.get(table)?.set(row.id, row);
  const now = timeText(Date.now());
  for (const [table, ofTable] of rows)
    for (const row of ofTable.values()) if (!isAlive(table, row, now)) ofTable.delete(row.id);
  await copy.rewrite(rows, content.through);
}
