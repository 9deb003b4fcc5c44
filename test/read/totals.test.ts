import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { createExportReader } from '../../src/read/export.ts';
import { type AuditFilter, whereClause } from '../../src/read/filter.ts';
import { createHistogramReader } from '../../src/read/histogram.ts';
import { createPageReader } from '../../src/read/page.ts';
import { createTopValuesReader } from '../../src/read/top-values.ts';
import { countExpired } from '../../src/storage/removal.ts';
import { askEngine } from '../../src/storage/statement-client.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';
import { createRecorder } from './support.ts';

/**
 * The engine can count whole granules without a look at them. Granules of a few large events lie within most ranges of
 * time, so these totals are the ones that such a count can get wrong.
 */
const envelope = { head: '{', tail: '}}' };
const base = Date.UTC(2024, 4, 1) * 1000;
const hour = 3_600_000_000;
/** Ten of them are a granule. */
const largeBytes = 1_000_000;
const large = 24;
const actor = 'most@x.test';

describe('totals of large events', () => {
  let engine: SharedEngine;
  const org = randomUUID();
  before(async () => {
    engine = await sharedEngine();
    const record = createRecorder(engine.storage);
    const eventAt = (n: number, bytes: number) => ({
      message: {
        timestamp: base + n * hour,
        action: 1,
        actor: { email: actor },
        extra: { n, x: 'x'.repeat(bytes) },
      },
    });
    await record(
      org,
      Array.from({ length: large }, (_, n) => eventAt(n, largeBytes)),
    );
    await record(
      randomUUID(),
      Array.from({ length: 2_000 }, (_, n) => eventAt(n % large, 1)),
    );
  });

  /** Ranges of time that begin and end within granules. */
  const ranges = [
    [0, large - 3],
    [2, large - 3],
    [5, large - 1],
    [7, 21],
    [13, 14],
  ] as const;
  const within = (first: number, last: number): AuditFilter => ({
    fromMicros: base + first * hour,
    toMicros: base + last * hour,
  });
  const signal = () => AbortSignal.timeout(20_000);

  async function totalOfPage(filter: AuditFilter): Promise<number> {
    const read = createPageReader(engine.storage, envelope, () => 0);
    const body = await read(org, { filter, limit: 1, offset: 0 }, signal());
    if ('release' in body) body.release();
    return body.total;
  }

  async function totalOfExport(filter: AuditFilter): Promise<number> {
    const read = createExportReader(engine.storage, envelope);
    const { total, stream } = await read(org, { filter, format: 'ndjson' }, 0, signal());
    stream.destroy();
    return total;
  }

  test('are exact wherever a range begins and ends, on every way out', async () => {
    const histogram = createHistogramReader(engine.storage);
    const topValues = createTopValuesReader(engine.storage);
    for (const [first, last] of ranges) {
      const filter = within(first, last);
      const { meta } = await histogram(org, filter, signal());
      const { severities, statuses } = await topValues(org, filter, 10, signal());
      const counts = [
        await totalOfPage(filter),
        await totalOfPage({ ...filter, is: { actor } }),
        await totalOfExport(filter),
        meta.total,
        ...[severities, statuses].map((values) => values.reduce((sum, { count }) => sum + count, 0)),
      ];
      assert.deepEqual(counts, Array(6).fill(last - first + 1), `${first} to ${last}`);
    }
  });

  test('are exact for all that counts before it removes', async () => {
    for (const n of [3, 11, 17, 23]) {
      const expired = { organization: org, beforeMicros: base + n * hour };
      assert.equal(await countExpired(engine.storage, expired), n);
    }
  });

  test('are exact in any statement, whichever way it goes to the engine', async () => {
    const { sql, parameters } = whereClause(org, within(2, large - 3));
    const query = `SELECT count() AS n FROM events WHERE ${sql}`;
    const expected = [{ n: String(large - 4) }];
    assert.deepEqual(await engine.storage.rows(query, parameters), expected);
    assert.deepEqual(await engine.storage.readRows(query, parameters), expected);
    // An operator's, without settings.
    const own = `SELECT count() FROM audit.events WHERE org = '${org}' AND time < fromUnixTimestamp64Micro(${base + (large - 3) * hour})`;
    assert.equal(await askEngine(engine.connection, own, 20_000), `${large - 3}\n`);
  });
});
