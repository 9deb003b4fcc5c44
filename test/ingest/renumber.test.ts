import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { segmentAtTime, writersMax } from '../../src/base/events/sequence.ts';
import { type LogFiles, openLogFiles } from '../../src/ingest/files.ts';
import { Idempotency, sentOf } from '../../src/ingest/idempotency.ts';
import { renumberLog } from '../../src/ingest/renumber.ts';
import { segmentName } from '../../src/ingest/segment.ts';
import { Wal } from '../../src/ingest/wal.ts';
import { rounds } from '../support/rounds.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog } from '../support/engine.ts';
import { createTornFiles, PowerCut, type Random } from '../support/torn-files.ts';
import { frameOf, overwrite, randomOf, rowsOf } from './log-support.ts';

const none = () => undefined;
const [oldWriter, newWriter] = [3, 5];

interface Opened {
  readonly wal: Wal;
  readonly damage: DamageRegister;
}

async function open(files: LogFiles, writer: number): Promise<Opened> {
  const damage = new DamageRegister();
  const log = { debug: none, info: none, warn: none, error: none };
  const sizes = { segmentBytes: 4000, largeBytes: 1200, bytesMax: 1e9 };
  return { wal: await Wal.open({ files, log, ...sizes, writer, nowMs: Date.now, damage }), damage };
}

/** A log of a few segments; the ids of rows by segment. */
async function writeLog(files: LogFiles, random: Random): Promise<Map<number, number[]>> {
  const { wal } = await open(files, oldWriter);
  const rows = new Map<number, number[]>();
  let id = 0;
  for (let segment = 0; segment < 4; segment++) {
    for (let append = 1 + Math.floor(random() * 3); append > 0; append--) {
      const ids = Array.from({ length: 1 + Math.floor(random() * 4) }, () => ++id);
      const frames = ids.map((one) => frameOf([one], Math.floor(random() * 600)));
      const number = await wal.append(random() < 0.5 ? [frameOf(ids, 60)] : frames);
      rows.set(number, [...(rows.get(number) ?? []), ...ids]);
    }
    if (segment < 3 || random() < 0.5) await wal.seal();
  }
  await wal.close();
  return rows;
}

describe('new places for what is in a log', () => {
  let dataDir: string;
  before(async () => {
    dataDir = await temporaryDirectory();
  });
  after(() => removeDirectory(dataDir));

  const renumber = (files: LogFiles, options: Partial<Parameters<typeof renumberLog>[0]>) =>
    renumberLog({
      dataDir,
      files,
      log: { debug: none, info: none, warn: none, error: none },
      damage: new DamageRegister(),
      writer: newWriter,
      after: 0,
      storedRowsOf: async () => 0,
      ...options,
    });

  test('are taken once by each event that is not stored, wherever the power goes', async () => {
    for (let seed = 1; seed <= rounds(25, 400); seed++) {
      const random = randomOf(seed);
      const options = { cutAfter: Number.POSITIVE_INFINITY, random };
      const disk = createTornFiles(options);
      const rows = await writeLog(disk.files, random);
      const stored = new Set([...rows.keys()].filter(() => random() < 0.3));
      const storedRowsOf = async (of: number) => (stored.has(of) ? (rows.get(of)?.length ?? 0) : 0);
      const after = segmentAtTime(Date.now() + 5000);
      let files = disk.afterPowerCut();
      for (let attempt = 0; ; attempt++) {
        if (attempt < 5) options.cutAfter = Math.floor(random() * 35);
        try {
          await renumber(files, { after, storedRowsOf });
          break;
        } catch (error) {
          assert.ok(error instanceof PowerCut, String(error));
          files = disk.afterPowerCut();
        }
      }
      files = disk.afterPowerCut();
      const { wal, damage } = await open(files, newWriter);
      const found: number[] = [];
      for (const segment of wal.sealed()) {
        assert.ok(segment.number > after && segment.number % writersMax === newWriter, `seed ${seed}`);
        const places = await rowsOf(wal, segment);
        assert.deepEqual(
          places.map(([place]) => place),
          places.map((_, n) => n),
        );
        found.push(...places.map(([, id]) => id));
      }
      const expected = [...rows].filter(([number]) => !stored.has(number)).flatMap(([, ids]) => ids);
      assert.deepEqual(
        found,
        expected.toSorted((a, b) => a - b),
        `seed ${seed}`,
      );
      assert.deepEqual(damage.list(), [], `seed ${seed}`);
      await wal.close();
    }
  });

  const idOf = (name: string) => sentOf(name, 'id');
  const note = (name: string) =>
    JSON.stringify({
      id: idOf(name),
      body: idOf('x'),
      at: Date.now(),
      answer: { accepted: 1, rejected: 0, errors: [] },
    });

  test('keep the answers to repeated requests, also of what is stored', async () => {
    const disk = createTornFiles({ cutAfter: Number.POSITIVE_INFINITY, random: randomOf(1) });
    const { wal } = await open(disk.files, oldWriter);
    const moving = note('moved');
    const stored = await wal.append([{ ...frameOf([1], 10), notes: note('stored') }]);
    await wal.seal();
    await wal.append([{ ...frameOf([2], 10), notes: moving }]);
    await wal.close();
    await renumber(disk.files, { storedRowsOf: async (of) => (of === stored ? 1 : 0) });
    const { wal: next } = await open(disk.files, newWriter);
    const [moved] = next.sealed();
    assert.ok(moved);
    const { frames } = await next.read(moved);
    assert.deepEqual(
      frames.map(({ notes }) => Buffer.from(notes).toString()),
      [moving],
    );
    const folder = join(dataDir, 'idempotency');
    const answers = await Idempotency.open(await openLogFiles(folder), Date.now, silentLog);
    assert.equal(answers.recall(idOf('stored'), sentOf('x', '')), 'other');
    assert.deepEqual(answers.recall(idOf('stored'), idOf('x')), { accepted: 1, rejected: 0, errors: [] });
    await next.close();
  });

  test('are taken by what is intact of a damaged segment, whose file is kept; one stored in part stops the start', async () => {
    const disk = createTornFiles({ cutAfter: Number.POSITIVE_INFINITY, random: randomOf(2) });
    const files = disk.files;
    const { wal } = await open(files, oldWriter);
    const harmed = await wal.append([frameOf([1], 100)]);
    await wal.append([frameOf([2], 100)]);
    await wal.seal();
    await wal.append([frameOf([3, 4], 100)]);
    await wal.close();
    const content = await files.read(segmentName(harmed));
    content[content.length - 50] = (content[content.length - 50] as number) ^ 1;
    await overwrite(files, segmentName(harmed), content);
    await assert.rejects(
      renumber(files, { storedRowsOf: async (of) => (of === harmed ? 0 : 1) }),
      /stored in part|1 of 2 events/,
    );
    const damage = new DamageRegister();
    await renumber(files, { damage });
    assert.deepEqual(
      damage.list().map(({ id }) => Number(id)),
      [harmed],
    );
    const names = await files.list();
    assert.ok(names.includes(segmentName(harmed).replace('wal', 'damaged')), names.join(' '));
    const { wal: next } = await open(files, newWriter);
    const ids: number[] = [];
    for (const segment of next.sealed()) ids.push(...(await rowsOf(next, segment)).map(([, id]) => id));
    assert.deepEqual(ids, [1, 3, 4]);
    await next.close();
  });
});
