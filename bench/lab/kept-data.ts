import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from './user-error.ts';

/** Values of filtered reads; `none` matches nothing. */
export interface Wanted {
  readonly frequent: string;
  readonly rare: string;
  readonly none: string;
}

/** Facts about the content of a kept data directory. */
export interface Facts {
  /** The planned number of rows, which determines the times of events, and the minimum present. */
  readonly rowsMax: number;
  readonly rows: number;
  readonly id: string;
  readonly key: string;
  readonly microsFrom: number;
  readonly microsStep: number;
  readonly wanted: Readonly<Record<'actor' | 'name' | 'userId' | 'hash', Wanted>>;
}

/** Absent if the run was interrupted before the first event of the large organization. */
interface Kept {
  readonly format: 2;
  readonly rowsMax: number;
  readonly facts?: Facts;
}

const pathOf = (directory: string): string => join(directory, 'bench-data.json');

function write(directory: string, kept: Kept): void {
  // Private: it contains a key of the service.
  writeFileSync(pathOf(directory), `${JSON.stringify(kept)}\n`, { mode: 0o600 });
}

function read(directory: string): Kept | undefined {
  const path = pathOf(directory);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Kept) : undefined;
}

/**
 * Prepares the directory for a service with `rowsMax` events. An earlier run may have filled it, or may have been interrupted at any
 * point. Throws UserError if it contains anything else.
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

/** The facts of a used directory. */
export function loadFacts(directory: string | undefined): Facts | undefined {
  return directory === undefined ? undefined : read(directory)?.facts;
}

export function saveFacts(directory: string | undefined, facts: Facts): void {
  if (directory !== undefined) write(directory, { format: 2, rowsMax: facts.rowsMax, facts });
}
