import { access, constants, type FileHandle, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32c } from '@node-rs/crc32';
import { replaceFile, syncDirectory } from '../base/files/durable-file.ts';
import { ifThere, namingFile } from '../base/errors/system-error.ts';
import {
  type ControlRow,
  type ControlTableName,
  isControlTable,
  replaces,
  versionOf,
} from './control-rows.ts';
import type { RemovedRows } from './storage.ts';

/** The copy is written anew once it has this many lines that later ones replace. */
const controlCopySupersededMax = 1_000;
const controlCopyReadBytes = 256 * 1024;
const formatVersion = 1;

/** What a line of the copy says. The first one has the format; a file that something has made anew has none. */
type Entry =
  | { readonly format: number }
  | { readonly table: ControlTableName; readonly row: ControlRow }
  | { readonly table: ControlTableName; readonly forget: RemovedRows };

export type CopiedRows = ReadonlyMap<ControlTableName, ReadonlyMap<string, ControlRow>>;

export interface CopyContent {
  /** Nothing of it is missing or damaged, as far as it tells. */
  readonly isWhole: boolean;
  readonly isThere: boolean;
  readonly damagedLines: number;
  readonly rows: CopiedRows;
  /** Whether a row was removed for good, and nobody has put one of its id since. The engine may still have it for a while. */
  isForgotten(table: ControlTableName, row: ControlRow): boolean;
  /** Too much of it says nothing any more, or has what is to be gone for good. */
  readonly isDue: boolean;
  /** Bytes of it that were read. */
  readonly through: number;
}

const lineOf = (entry: Entry): string => {
  const text = JSON.stringify(entry);
  return `${crc32c(text).toString(16).padStart(8, '0')} ${text}\n`;
};

/** Undefined: it is damaged. */
function entryOf(line: string): Entry | undefined {
  const text = line.slice(9);
  if (line.slice(0, 9) !== `${crc32c(text).toString(16).padStart(8, '0')} `) return undefined;
  const entry = JSON.parse(text) as Entry;
  return 'format' in entry || isControlTable(entry.table) ? entry : undefined;
}

/** What lines say together, one after the other. */
class Reading {
  readonly rows = new Map<ControlTableName, Map<string, ControlRow>>();
  readonly forgotten: { readonly table: ControlTableName; readonly forget: RemovedRows }[] = [];
  isHeaded = false;
  damagedLines = 0;
  superseded = 0;

  take(line: string): void {
    const entry = entryOf(line);
    if (entry === undefined) this.damagedLines += 1;
    else if ('format' in entry) this.isHeaded ||= entry.format === formatVersion;
    else if ('row' in entry) this.#put(entry.table, entry.row);
    else this.#forget(entry.table, entry.forget);
  }

  #put(table: ControlTableName, row: ControlRow): void {
    const held = this.rows.get(table) ?? new Map<string, ControlRow>();
    this.rows.set(table, held);
    const before = held.get(row.id);
    if (before !== undefined) this.superseded += 1;
    if (replaces(table, row, before)) held.set(row.id, row);
  }

  #forget(table: ControlTableName, forget: RemovedRows): void {
    this.forgotten.push({ table, forget });
    const held = this.rows.get(table);
    for (const row of held?.values() ?? []) if (isOf(forget, row)) held?.delete(row.id);
  }

  isForgotten(table: ControlTableName, row: ControlRow): boolean {
    if (this.rows.get(table)?.has(row.id) === true) return false;
    return this.forgotten.some((one) => one.table === table && isOf(one.forget, row));
  }
}

const isOf = ({ column, id, below = Infinity }: RemovedRows, row: ControlRow): boolean =>
  row[column] === id && versionOf(row) < below;

/**
 * The copy of the control data that stands outside of the embedded engine: a file of lines, each with a checksum, to which
 * every process that changes control data appends.
 *
 * A row is appended when the engine has it, and a removal before the engine removes: so the copy never has what the tables
 * have not had, and whatever it has beyond them was lost there. `rewrite` puts a shorter file in its place; whoever
 * appended meanwhile finds another file under the name and appends again.
 */
export class ControlCopy {
  readonly dataDir: string;
  readonly path: string;
  /** What `newestVersion` has read: of which file, up to where, and the newest version by table and id. */
  #read = { inode: 0n, bytes: 0 };
  readonly #versions = new Map<string, number>();

  constructor(dataDir: string) {
    this.dataDir = dataDir;
    this.path = join(dataDir, 'control-data.log');
  }

  /** Resolves when the rows survive a power cut. */
  put(table: ControlTableName, rows: readonly object[]): Promise<void> {
    return this.#append(rows.map((row) => lineOf({ table, row: row as ControlRow })).join(''));
  }

  /** From now on these rows count as none that were lost. */
  forget(table: ControlTableName, forget: RemovedRows): Promise<void> {
    return this.#append(lineOf({ table, forget }));
  }

  /** Rejects where lines cannot be appended. `byWriting`: a line that says nothing is, to find what opening does not. */
  async check(byWriting: boolean): Promise<void> {
    if (byWriting) return this.#append(lineOf({ format: formatVersion }));
    const file = await ifThere(open(this.path, constants.O_WRONLY | constants.O_APPEND));
    await file?.close();
    if (file === undefined) await access(dirname(this.path), constants.W_OK);
  }

  async content(): Promise<CopyContent> {
    const found = await this.#readFrom(0);
    const reading = new Reading();
    for (const line of found?.lines ?? []) reading.take(line);
    const { rows, isHeaded, damagedLines, superseded, forgotten } = reading;
    const isForgotten: CopyContent['isForgotten'] = (table, row) => reading.isForgotten(table, row);
    const isWhole = isHeaded && damagedLines === 0;
    const isDue =
      !isWhole || forgotten.length > 0 || found?.isTorn === true || superseded > controlCopySupersededMax;
    const through = found?.through ?? 0;
    return { isWhole, isThere: found !== undefined, damagedLines, rows, isForgotten, isDue, through };
  }

  /** The newest version of an id that anybody has put; undefined: none. Reads what has come since it was last asked. */
  async newestVersion(table: ControlTableName, id: string): Promise<number | undefined> {
    const { inode, bytes } = this.#read;
    const found = await this.#readFrom(bytes, inode);
    if (found === undefined || found.inode !== inode) this.#versions.clear();
    for (const line of found?.lines ?? []) this.#note(line);
    this.#read = { inode: found?.inode ?? 0n, bytes: found?.through ?? 0 };
    return this.#versions.get(`${table} ${id}`);
  }

  #note(line: string): void {
    const entry = entryOf(line);
    if (entry === undefined || 'format' in entry) return;
    if ('row' in entry) {
      const key = `${entry.table} ${entry.row.id}`;
      this.#versions.set(key, Math.max(versionOf(entry.row), this.#versions.get(key) ?? 0));
    } else if (entry.forget.column === 'id' && entry.forget.below === undefined) {
      this.#versions.delete(`${entry.table} ${entry.forget.id}`);
    }
  }

  /**
   * Puts a file with these rows, which stand for what was read `through` some bytes of the old one, in its place. One
   * process at a time may do that: the one that runs the engine.
   */
  async rewrite(rows: CopiedRows, through: number): Promise<void> {
    const old = await ifThere(open(this.path, 'r'));
    try {
      const lines = [lineOf({ format: formatVersion })];
      for (const [table, ofTable] of rows)
        for (const row of ofTable.values()) lines.push(lineOf({ table, row }));
      await replaceFile(this.path, lines.join(''));
      // Whoever writes from now on sees the new file; what came before that to the old one is taken over here.
      const late = old === undefined ? '' : (await bytesFrom(old, through)).toString('utf8');
      const whole = late.split('\n').filter((line) => entryOf(line) !== undefined);
      if (whole.length > 0) await this.#append(`${whole.join('\n')}\n`);
    } finally {
      await old?.close();
    }
  }

  /** Another text whenever somebody has written to it. */
  async state(): Promise<string> {
    const found = await ifThere(stat(this.path));
    return `${found?.ino} ${found?.size}`;
  }

  /** Lines from a place on, or from the beginning where it is another file than that of `ofInode`. */
  async #readFrom(bytes: number, ofInode?: bigint) {
    const file = await ifThere(open(this.path, 'r'));
    if (file === undefined) return undefined;
    try {
      const { ino: inode } = await file.stat({ bigint: true });
      const from = ofInode === undefined || ofInode === inode ? bytes : 0;
      const found = await namingFile(this.path, () => bytesFrom(file, from));
      // Without its end a line is one that a power cut has cut short: nobody was told that it was written.
      const end = found.lastIndexOf('\n') + 1;
      const lines = found
        .toString('utf8', 0, end)
        .split('\n')
        .filter((line) => line !== '');
      return { inode, through: from + end, isTorn: end < found.length, lines };
    } finally {
      await file.close();
    }
  }

  async #append(lines: string): Promise<void> {
    // An end of line comes first: it ends what a power cut has cut short.
    const bytes = Buffer.from(`\n${lines}`);
    for (let isDone = false; !isDone; ) isDone = await namingFile(this.path, () => this.#appendOnce(bytes));
  }

  /** False where another file has the name by now: what was written went to the old one, perhaps too late. */
  async #appendOnce(bytes: Buffer): Promise<boolean> {
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_DSYNC;
    const file = await open(this.path, flags, 0o600);
    try {
      // One call, so that lines of several processes never mix.
      const { bytesWritten } = await file.write(bytes);
      if (bytesWritten < bytes.length)
        throw new Error('a write to the copy of the control data was cut short');
      const { ino, size } = await file.stat();
      if (size === bytes.length) await syncDirectory(dirname(this.path));
      return (await ifThere(stat(this.path)))?.ino === ino;
    } finally {
      await file.close();
    }
  }
}

async function bytesFrom(file: FileHandle, from: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = from; ; ) {
    const piece = Buffer.allocUnsafe(controlCopyReadBytes);
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (bytesRead === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, bytesRead));
    at += bytesRead;
  }
}
