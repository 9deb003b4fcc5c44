import { linesOf } from '../tools/lines.ts';
import { contentOf } from './check.ts';
import { newIn } from './snapshot.ts';
import type { CountRow, Manifest, StoredMonth } from './manifest.ts';
import type { BackupPlace } from './place.ts';
import { countsQuery } from './take.ts';
import { limits } from './limits.ts';
import { reading } from './slices.ts';
import type { BackupSession } from './session.ts';

/** Events of an organization and month that are not in the table as the backup has them. */
export interface CountFinding {
  readonly organization: string;
  /** Such as 2024-03. */
  readonly month: string;
  /** By the backup, and in the table. */
  readonly events: number;
  readonly found: number;
}

/** A month of one backup of the chain. */
interface OfBackup {
  readonly id: string;
  readonly month: StoredMonth;
}

/** How the ids of organizations are divided, as both sides of a comparison are held: by no, one or two of their digits. */
function prefixesFor(parts: readonly OfBackup[], bytesAtOnce: number): readonly string[] {
  const bytes = parts.flatMap(({ month }) => month.counts).reduce((sum, file) => sum + file.bytes, 0);
  const digits = Array.from('0123456789abcdef');
  if (bytes <= bytesAtOnce) return [''];
  if (bytes <= bytesAtOnce * digits.length) return digits;
  return digits.flatMap((first) => digits.map((second) => first + second));
}

type Counts = Map<string, { events: number; hash: bigint }>;

/** Hashes of rows are combined by XOR, so those of several backups are. */
function add(counts: Counts, { organization: key, events, hash }: CountRow): void {
  const before = counts.get(key);
  counts.set(key, {
    events: events + (before?.events ?? 0),
    hash: BigInt(hash) ^ (before?.hash ?? 0n),
  });
}

/**
 * Holds the table against the counts of the backups: events by organization and month of recording, and a hash of every
 * column.
 */
export class CountComparison {
  readonly #session: Pick<BackupSession, 'storage'>;
  readonly #place: BackupPlace;
  readonly #chain: readonly Manifest[];
  readonly #bytesAtOnce: number;

  constructor(
    session: Pick<BackupSession, 'storage'>,
    place: BackupPlace,
    chain: readonly Manifest[],
    bytesAtOnce: number = limits.restoreCountsBytes,
  ) {
    this.#bytesAtOnce = bytesAtOnce;
    this.#session = session;
    this.#place = place;
    this.#chain = chain;
  }

  async findings(): Promise<CountFinding[]> {
    const months = new Map<number, OfBackup[]>();
    for (const { id, months: stored } of this.#chain)
      for (const month of stored)
        months.set(month.month, [...(months.get(month.month) ?? []), { id, month }]);
    const findings: CountFinding[] = [];
    for (const [month, parts] of [...months].toSorted(([a], [b]) => a - b))
      for (const prefix of prefixesFor(parts, this.#bytesAtOnce)) {
        const expected = await this.#expected(parts, prefix);
        findings.push(...differences(month, expected, await this.#found(parts, prefix)));
        if (findings.length > limits.backupFindingsMax) return findings;
      }
    return findings;
  }

  async #expected(parts: readonly OfBackup[], prefix: string): Promise<Counts> {
    const counts: Counts = new Map();
    for (const { id, month } of parts)
      for await (const lines of linesOf(contentOf(this.#place, id, month.counts)))
        for (const line of lines) {
          const row = JSON.parse(line.toString()) as CountRow;
          if (row.organization.startsWith(prefix)) add(counts, row);
        }
    return counts;
  }

  async #found(parts: readonly OfBackup[], prefix: string): Promise<Counts> {
    const from = parts.map(({ month }) => BigInt(month.from)).reduce((a, b) => (a < b ? a : b));
    const before = parts.map(({ month }) => BigInt(month.before)).reduce((a, b) => (a > b ? a : b));
    const newest = this.#chain.at(-1);
    if (newest === undefined) return new Map();
    // Without what was recorded here since.
    const all = newIn(newest.snapshot, undefined);
    const where = `seq >= {from:UInt64} AND seq < {before:UInt64} AND ${all.where}
      AND startsWith(toString(org), {prefix:String})`;
    const parameters = { ...all.parameters, from, before, prefix };
    const counts: Counts = new Map();
    const query = countsQuery({ where, parameters }, newest.columns);
    for (const row of await this.#session.storage.readRows<CountRow>(query, parameters, reading))
      add(counts, row);
    return counts;
  }
}

function differences(month: number, expected: Counts, found: Counts): CountFinding[] {
  const name = `${Math.floor(month / 100)}-${String(month % 100).padStart(2, '0')}`;
  const keys = new Set([...expected.keys(), ...found.keys()]);
  return [...keys].flatMap((organization) => {
    const [here, there] = [expected.get(organization), found.get(organization)];
    if (here?.events === there?.events && here?.hash === there?.hash) return [];
    return [{ organization, month: name, events: here?.events ?? 0, found: there?.events ?? 0 }];
  });
}
