import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from './user-error.ts';

/** Who is asked for in filtered reads; `none` matches nothing. */
export interface Wanted {
  readonly frequent: string;
  readonly rare: string;
  readonly none: string;
}

/** What a data directory that is kept has to know about its own content. */
export interface Facts {
  /** How many rows the times of the events are laid out for, and how many there are at least. */
  readonly rowsMax: number;
  readonly rows: number;
  readonly id: string;
  readonly key: string;
  readonly microsFrom: number;
  readonly microsStep: number;
  readonly wanted: Readonly<Record<'actor' | 'name' | 'userId' | 'hash', Wanted>>;
}

/** Without facts: what is there was interrupted before the first of its large organization's events. */
interface Kept {
  readonly format: 2;
  readonly rowsMax: number;
  readonly facts?: Facts;
}

const pathOf = (directory: string): string => join(directory, 'bench-data.json');

function write(directory: string, kept: Kept): void {
  // Only for its owner: it holds a key of the service beside it.
  writeFileSync(pathOf(directory), `${JSON.stringify(kept)}\n`, { mode: 0o600 });
}

function read(directory: string): Kept | undefined {
  const path = pathOf(directory);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Kept) : undefined;
}

/**
 * Makes the directory ready for a service that reads `rowsMax` events there, before that is started: an earlier run
 * may have filled it, or have been interrupted at any point. Throws UserError where it holds anything else.
 */
export function openKept(directory: string, rowsMax: number): void {
  const kept = read(directory);
  const data = join(directory, 'data');
  if (kept === undefined && existsSync(data)) throw new UserError(`${data} is not this bench's`);
  if (kept !== undefined && (kept.format !== 2 || kept.rowsMax !== rowsMax))
    throw new UserError(
      `${directory} holds ${kept.rowsMax} events of format ${kept.format}: use --rows ${kept.rowsMax} or another --data`,
    );
  if (kept?.facts !== undefined) return;
  rmSync(data, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  write(directory, { format: 2, rowsMax });
}

/** The facts of a directory that has been used before. */
export function loadFacts(directory: string | undefined): Facts | undefined {
  return directory === undefined ? undefined : read(directory)?.facts;
}

export function saveFacts(directory: string | undefined, facts: Facts): void {
  if (directory !== undefined) write(directory, { format: 2, rowsMax: facts.rowsMax, facts });
}
