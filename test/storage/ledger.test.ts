import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  Ledger,
  type LedgerState,
  readLedger,
  type StoredCount,
  writeLedger,
} from '../../src/storage/ledger.ts';

interface Row {
  readonly seq: number;
  readonly partition: string;
  readonly expires: number;
}

const dayText = (day: number): string => new Date(day * 86_400_000).toISOString().slice(0, 10);

function counts(rows: readonly Row[]): StoredCount[] {
  const sums = new Map<string, StoredCount>();
  for (const { partition, expires } of rows) {
    const key = `${partition} ${expires}`;
    sums.set(key, { partition, expires: dayText(expires), rows: (sums.get(key)?.rows ?? 0) + 1 });
  }
  return [...sums.values()];
}

/** A table, what is lost of it, and a ledger that counts now and then, as a service and its crashes would have it. */
class World {
  day = 20_000;
  table: Row[] = [];
  lost: Row[] = [];
  losses: Row[] = [];
  #nextSeq = 1;
  saved: LedgerState = new Ledger().state();
  ledger = new Ledger();

  store(rows: readonly { partition: string; days: number }[]): void {
    for (const { partition, days } of rows)
      this.table.push({ seq: this.#nextSeq++, partition, expires: this.day + days });
  }

  count(): void {
    const through = Number(this.ledger.through);
    // What goes before it is counted, nobody can miss.
    this.lost = this.lost.filter(({ seq }) => seq <= through);
    this.ledger.advance(BigInt(this.#nextSeq - 1), counts(this.table.filter(({ seq }) => seq > through)));
    this.saved = this.ledger.state();
  }

  /** The engine removes some of what has expired. */
  expire(days: number, keep: (row: Row) => boolean): void {
    this.day += days;
    this.table = this.table.filter((row) => row.expires > this.day || keep(row));
  }

  lose(isLost: (row: Row) => boolean): void {
    this.lost.push(...this.table.filter(isLost));
    this.table = this.table.filter((row) => !isLost(row));
  }

  compare(): { missing: Map<string, number>; raised: number } {
    const through = Number(this.ledger.through);
    const table = counts(this.table.filter(({ seq }) => seq <= through));
    const { missing, raised } = this.ledger.compare(table, counts(this.losses), dayText(this.day));
    return { missing: new Map(missing.map(({ partition, rows }) => [partition, rows])), raised };
  }

  /** What a comparison must tell: lost, counted, not expired and not recorded, by partition. */
  expected(): Map<string, number> {
    const sums = new Map<string, number>();
    for (const { seq, partition, expires } of this.lost) {
      if (seq > Number(this.ledger.through) || expires <= this.day) continue;
      sums.set(partition, (sums.get(partition) ?? 0) + 1);
    }
    return sums;
  }

  /** The operator records what is missing, as the ledger tells it; later it is not missing any more. */
  record(): void {
    const through = Number(this.ledger.through);
    this.losses.push(...this.lost.filter(({ seq }) => seq <= through));
    this.lost = this.lost.filter(({ seq }) => seq > through);
  }

  /** A process that is started after a crash or a stop has what was saved. */
  restart(): void {
    this.ledger = new Ledger(JSON.parse(JSON.stringify(this.saved)) as LedgerState);
  }
}

const row = fc.record({
  partition: fc.constantFrom('202610', '202611', '202612'),
  days: fc.constantFrom(0, 1, 2, 7, 10_000),
});
const step = fc.oneof(
  fc.array(row, { minLength: 1, maxLength: 20 }).map((rows) => (world: World) => world.store(rows)),
  fc.constant((world: World) => world.count()),
  fc.tuple(fc.nat(3), fc.nat(4)).map(([days, modulus]) => (world: World) => {
    world.expire(days, ({ seq }) => seq % (modulus + 1) === 0);
  }),
  fc.tuple(fc.nat(6), fc.nat(6)).map(([from, length]) => (world: World) => {
    world.lose(({ seq }) => seq % 13 >= from && seq % 13 < from + length);
  }),
  fc.constant((world: World) => world.record()),
  fc.constant((world: World) => world.restart()),
);

test('no false alarm, and every loss of counted events that had not expired is told', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const world = new World();
      for (const run of steps) {
        run(world);
        const { missing, raised } = world.compare();
        assert.deepEqual(missing, world.expected());
        assert.equal(raised, 0);
      }
    }),
    { numRuns: 300 },
  );
});

test('a ledger that is lost begins again with what the table has', () => {
  const world = new World();
  world.store([...Array(100).keys()].map(() => ({ partition: '202611', days: 30 })));
  world.count();
  world.ledger = new Ledger({ through: String(world.ledger.through), counts: [] });
  assert.deepEqual(world.compare(), { missing: new Map(), raised: 100 });
  world.lose(({ seq }) => seq <= 7);
  assert.deepEqual(world.compare(), { missing: new Map([['202611', 7]]), raised: 0 });
});

test('the file keeps a ledger; a damaged one is not believed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'auditlog-ledger-'));
  try {
    let damaged = 0;
    const read = () => readLedger(directory, () => damaged++);
    assert.equal(await read(), undefined);
    const ledger = new Ledger();
    ledger.advance(12_345_678_901_234_567n, [{ partition: '202611', expires: '2149-06-06', rows: 41 }]);
    await writeLedger(directory, ledger);
    assert.deepEqual((await read())?.state(), ledger.state());
    assert.equal(damaged, 0);
    const path = join(directory, 'ledger.json');
    const text = await readFile(path, 'utf8');
    for (const other of [text.replace(':41', ':43'), text.slice(0, -5), '', 'null']) {
      await writeFile(path, other);
      assert.equal(await read(), undefined);
    }
    assert.equal(damaged, 4);
  } finally {
    await rm(directory, { recursive: true });
  }
});
