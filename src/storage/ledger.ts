import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readIfThere, replaceFile } from '../base/files/durable-file.ts';
import { limits } from './limits.ts';

/** Rows of one partition of the table that expire on the same day. */
export interface StoredCount {
  readonly partition: string;
  /** `YYYY-MM-DD`, UTC; the rows may be gone from the beginning of that day. */
  readonly expires: string;
  readonly rows: number;
}

/** Rows that were in a partition and are not any more, though they have not expired. */
export interface MissingRows {
  readonly partition: string;
  readonly rows: number;
  readonly counts: readonly StoredCount[];
}

export interface LedgerState {
  /** The last place in the order of ingest that is counted, decimal. */
  readonly through: string;
  readonly counts: readonly StoredCount[];
}

const keyOf = ({ partition, expires }: StoredCount): string => `${expires} ${partition}`;

/**
 * How many rows the table has had, kept outside of it: what the table loses behind the service's back shows as a
 * difference. Nothing is counted that the table has not told, so a ledger that lags behind (a crash) never accuses it.
 *
 * Rows count by the day that they were recorded to expire on, since from then on they usually are removed, at any time.
 * Such days are forgotten. Those that go before, by a policy that came later, are written down as removed first. An
 * invariant of every comparison: for each day ahead,
 *
 *     rows counted up to `through`  ≤  rows in the table up to `through`  +  rows of acknowledged losses and removals
 */
export class Ledger {
  #through: bigint;
  readonly #counts = new Map<string, StoredCount>();

  constructor(state: LedgerState = { through: '0', counts: [] }) {
    this.#through = BigInt(state.through);
    for (const count of state.counts) this.#counts.set(keyOf(count), count);
  }

  get through(): bigint {
    return this.#through;
  }

  state(): LedgerState {
    return { through: String(this.#through), counts: [...this.#counts.values()] };
  }

  /** Takes in what the table has in (`through`, `to`], a stretch in which nothing can be added any more. */
  advance(to: bigint, added: readonly StoredCount[]): void {
    if (to < this.#through) throw new Error(`the ledger has counted beyond ${to}`);
    for (const count of added) {
      const rows = (this.#counts.get(keyOf(count))?.rows ?? 0) + count.rows;
      this.#counts.set(keyOf(count), { ...count, rows });
    }
    this.#through = to;
    this.#trim();
  }

  /**
   * Compares with all rows of the table up to `through`, and with the acknowledged losses and removals that are known. `today` is taken after
   * the table was asked: what expires later than that cannot have been removed in the meantime.
   *
   * @returns what is missing, by partition, and how many rows the table had that were not in the ledger; these are now
   */
  compare(
    table: readonly StoredCount[],
    losses: readonly StoredCount[],
    today: string,
  ): { readonly missing: MissingRows[]; readonly raised: number } {
    const held = new Map(table.map((count) => [keyOf(count), count.rows]));
    const known = new Map<string, number>();
    for (const loss of losses) known.set(keyOf(loss), (known.get(keyOf(loss)) ?? 0) + loss.rows);
    const missing = new Map<string, StoredCount[]>();
    for (const [key, count] of this.#counts) {
      const rows = count.rows - (held.get(key) ?? 0) - (known.get(key) ?? 0);
      if (count.expires <= today) this.#counts.delete(key);
      else if (rows > 0) {
        const others = missing.get(count.partition) ?? [];
        missing.set(count.partition, [...others, { ...count, rows }]);
      }
    }
    const raised = this.#raise(table, today);
    return { missing: [...missing].map(([partition, counts]) => sumOf(partition, counts)), raised };
  }

  #raise(table: readonly StoredCount[], today: string): number {
    let raised = 0;
    for (const count of table) {
      const more = count.rows - (this.#counts.get(keyOf(count))?.rows ?? 0);
      if (more <= 0 || count.expires <= today) continue;
      this.#counts.set(keyOf(count), count);
      raised += more;
    }
    this.#trim();
    return raised;
  }

  /** With too many days, those that come first are given up: they would soon be forgotten anyhow. */
  #trim(): void {
    const over = this.#counts.size - limits.ledgerCountsMax;
    if (over <= 0) return;
    for (const key of [...this.#counts.keys()].sort().slice(0, over)) this.#counts.delete(key);
  }
}

function sumOf(partition: string, counts: readonly StoredCount[]): MissingRows {
  return { partition, counts, rows: counts.reduce((sum, { rows }) => sum + rows, 0) };
}

/** The day of a moment (Unix milliseconds) as `expires` has it. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

interface LedgerContent {
  /** SHA-256 of the text of `ledger`: a damaged ledger must not be taken for a damaged table. */
  readonly sha256: string;
  readonly ledger: LedgerState;
}

const pathOf = (dataDir: string): string => join(dataDir, 'ledger.json');
const digestOf = (state: LedgerState): string =>
  createHash('sha256').update(JSON.stringify(state)).digest('hex');

/**
 * The ledger of a data directory; undefined when there is none, and when it is damaged, which `onDamage` hears of.
 * Rejects when the file cannot be read.
 */
export async function readLedger(dataDir: string, onDamage: () => void): Promise<Ledger | undefined> {
  const text = await readIfThere(pathOf(dataDir));
  if (text === undefined) return undefined;
  const state = parse(text);
  if (state === undefined) onDamage();
  return state === undefined ? undefined : new Ledger(state);
}

function parse(text: string): LedgerState | undefined {
  try {
    const content = JSON.parse(text) as Partial<LedgerContent> | null;
    const state = content?.ledger;
    return state !== undefined && content?.sha256 === digestOf(state) ? state : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Replaces the file; resolves when that survives a power cut. */
export async function writeLedger(dataDir: string, ledger: Ledger): Promise<void> {
  const state = ledger.state();
  const content: LedgerContent = { sha256: digestOf(state), ledger: state };
  await replaceFile(pathOf(dataDir), `${JSON.stringify(content)}\n`);
}
