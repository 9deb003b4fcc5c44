import { contentOf } from '../backup/check.ts';
import { newIn } from '../backup/cut.ts';
import type { CountRow, Manifest } from '../backup/manifest.ts';
import type { Place } from '../backup/place.ts';
import { countsOf } from '../backup/take.ts';
import { reading } from '../migrate-data/slices.ts';
import type { Session } from '../session.ts';

/** Events of an organization and month that are not in the table as the backup has them. */
export interface CountFinding {
  readonly organization: string;
  /** Such as 2024-03. */
  readonly month: string;
  /** By the backup, and in the table. */
  readonly events: number;
  readonly found: number;
}

type Counts = Map<string, { events: number; hash: bigint }>;

/** Hashes of rows are combined by XOR, so those of several backups are. */
function add(counts: Counts, { organization, expires, events, hash }: CountRow): void {
  const key = `${organization} ${expires}`;
  const before = counts.get(key);
  counts.set(key, {
    events: events + (before?.events ?? 0),
    hash: BigInt(hash) ^ (before?.hash ?? 0n),
  });
}

/**
 * Holds the table against the counts of the backups: events by organization, month of recording and day of expiry, and a
 * hash of every column. What expires today or earlier may have gone.
 */
export class CountComparison {
  readonly #session: Session;
  readonly #place: Place;
  readonly #chain: readonly Manifest[];

  constructor(session: Session, place: Place, chain: readonly Manifest[]) {
    this.#session = session;
    this.#place = place;
    this.#chain = chain;
  }

  async findings(): Promise<CountFinding[]> {
    for (;;) {
      const day = await this.#day();
      const found = await this.#findingsOn(day);
      if ((await this.#day()) === day) return found;
    }
  }

  async #findingsOn(day: string): Promise<CountFinding[]> {
    const months = this.#chain.flatMap((manifest) => manifest.months.map(({ month }) => month));
    const findings: CountFinding[] = [];
    for (const month of [...new Set(months)].toSorted((a, b) => a - b))
      findings.push(...differences(month, await this.#expected(month, day), await this.#found(month, day)));
    return findings;
  }

  async #expected(month: number, day: string): Promise<Counts> {
    const counts: Counts = new Map();
    for (const { id, months } of this.#chain) {
      const files = months.find((one) => one.month === month)?.counts ?? [];
      const pieces: Buffer[] = [];
      for await (const piece of contentOf(this.#place, id, files)) pieces.push(piece);
      for (const line of Buffer.concat(pieces).toString('utf8').split('\n')) {
        const row = line === '' ? undefined : (JSON.parse(line) as CountRow);
        if (row !== undefined && row.expires > day) add(counts, row);
      }
    }
    return counts;
  }

  async #found(month: number, day: string): Promise<Counts> {
    const stretches = this.#chain.flatMap(({ months }) => months.filter((one) => one.month === month));
    const from = stretches.map((one) => BigInt(one.from)).reduce((a, b) => (a < b ? a : b));
    const before = stretches.map((one) => BigInt(one.before)).reduce((a, b) => (a > b ? a : b));
    const cut = this.#chain.at(-1)?.cut;
    if (cut === undefined) return new Map();
    // Without what was recorded here since.
    const all = newIn(cut, undefined);
    const counts: Counts = new Map();
    const rows = await countsOf(this.#session, {
      where: `seq >= {from:UInt64} AND seq < {before:UInt64} AND ${all.where} AND expires > {day:Date}`,
      parameters: { ...all.parameters, from, before, day },
    });
    for (const row of rows) add(counts, row);
    return counts;
  }

  async #day(): Promise<string> {
    const [row] = await this.#session.storage.rows<{ day: string }>(
      'SELECT toString(today()) AS day',
      {},
      reading,
    );
    return row?.day ?? '';
  }
}

function differences(month: number, expected: Counts, found: Counts): CountFinding[] {
  const name = `${Math.floor(month / 100)}-${String(month % 100).padStart(2, '0')}`;
  const keys = new Set([...expected.keys(), ...found.keys()]);
  return [...keys].flatMap((key) => {
    const [here, there] = [expected.get(key), found.get(key)];
    if (here?.events === there?.events && here?.hash === there?.hash) return [];
    const organization = key.split(' ', 1)[0] ?? '';
    return [{ organization, month: name, events: here?.events ?? 0, found: there?.events ?? 0 }];
  });
}
