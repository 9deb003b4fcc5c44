import { Problem } from '../base/problem.ts';
import type { Storage } from '../storage/storage.ts';

/** The control tables; the names stand here so that no other text ever becomes part of a statement. */
export type ControlTable = 'organizations' | 'users' | 'api_keys' | 'ended_sessions';

/** A column of Unix microseconds as the engine prints it. */
export type MicrosText = string | number;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const controlCharacters = /[\p{Cc}\p{Cs}]/u;
const nameCharactersMax = 200;

export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** DateTime64(6) text, UTC, of Unix microseconds. */
export function dateTimeText(micros: number): string {
  const wholeMs = Math.floor(micros / 1000);
  const belowMs = String(micros - wholeMs * 1000).padStart(3, '0');
  return `${new Date(wholeMs).toISOString().slice(0, 23).replace('T', ' ')}${belowMs}`;
}

export function dateTimeTextOrNull(micros: number | undefined): string | null {
  return micros === undefined ? null : dateTimeText(micros);
}

export function microsOrUndefined(text: MicrosText | null): number | undefined {
  return text === null ? undefined : Number(text);
}

/** A version above the one it replaces, also where the clock of this machine is behind the last writer's. */
export function nextVersion(nowMicros: number, previousVersion: number): number {
  return Math.max(nowMicros, previousVersion + 1);
}

/** A name to show: trimmed, 1 to 200 characters, without control characters. Throws Problem `malformed`. */
export function displayName(field: string, text: string): string {
  const name = text.trim();
  if (name.length >= 1 && name.length <= nameCharactersMax && !controlCharacters.test(name)) return name;
  throw new Problem(
    'malformed',
    `${field} must have 1 to ${nameCharactersMax} characters, none of them control characters`,
  );
}

/** Rows as they stand now: of every id the one with the highest version. */
export function currentRows<Row>(
  storage: Storage,
  table: ControlTable,
  columns: string,
  condition: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<Row[]> {
  return storage.rows<Row>(`SELECT ${columns} FROM ${table} FINAL WHERE ${condition}`, parameters);
}
