import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32c } from '@node-rs/crc32';
import * as fc from 'fast-check';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { createLogger } from '../../src/base/observability/log.ts';
import type { LogFiles } from '../../src/ingest/files.ts';
import { OrderNumbers } from '../../src/ingest/order-numbers.ts';
import { segmentName } from '../../src/ingest/segment.ts';
import type { SealedSegment } from '../../src/ingest/sealed-segments.ts';
import { Wal } from '../../src/ingest/wal.ts';
import { createTornFiles, type Random } from '../support/torn-files.ts';
import { frameOf, overwrite, randomOf, rowsOf } from './log-support.ts';
import { rounds } from '../support/rounds.ts';

const log = createLogger('silent');

function open(
  files: LogFiles,
  clock: () => number,
  bytesMax = 1e9,
  damage = new DamageRegister(),
  largeBytes = 1e9,
): Promise<Wal> {
  const bounds = { segmentBytes: 4000, bytesMax, largeBytes };
  return Wal.open({ files, log, ...bounds, nowMs: clock, damage });
}

/** As `open`, but some appends of `history` get segments of their own. */
function openBoth(files: LogFiles, clock: () => number, damage = new DamageRegister()): Promise<Wal> {
  return open(files, clock, 1e9, damage, 1800);
}

/** Blocks a call until the test lets it continue or fail. */
function gate() {
  let open = (): void => {};
  let fail = (_error: Error): void => {};
  const passed = new Promise<void>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { passed, open, fail };
}

/** A log and the order numbers of its segments. */
interface Opened {
  readonly wal: Wal;
  readonly order: OrderNumbers;
}

/** As `openBoth`, and the numbers. */
async function openOrdered(
  files: LogFiles,
  clock: () => number,
  run: Run,
  damage = new DamageRegister(),
): Promise<Opened> {
  const wal = await openBoth(files, clock, damage);
  const recovered = wal.sealed().map(({ number }) => number);
  const hasFile = (segment: number) => wal.hasFile(segment);
  const newestStored = async () => Math.max(0, ...[...run.engine.keys()].map(Number.parseFloat));
  const options = {
    file: files.order,
    writer: () => 3,
    nowMs: clock,
    log,
    damage,
    newestStored,
    hasFile,
    recovered,
  };
  try {
    return { wal, order: await OrderNumbers.open(options) };
  } catch (error) {
    await wal.close();
    throw error;
  }
}

interface Run {
  /** Every acknowledged id, and its segment. */
  readonly acknowledged: Map<number, number>;
  /** The engine's rows by `number:position`. */
  readonly engine: Map<string, number>;
  /** The ids of each request, stored or not. */
  readonly appends: number[][];
  nextId: number;
  /** Organization of each id, and the highest published watermark of each organization. */
  readonly organizationOf: Map<number, string>;
  readonly watermarkOf: Map<string, number>;
}

const newRun = (): Run => ({
  acknowledged: new Map(),
  engine: new Map(),
  appends: [],
  nextId: 1,
  organizationOf: new Map(),
  watermarkOf: new Map(),
});

const organizations = ['one', 'another'];

/** Stores a segment in the pretended engine once; the INSERT may fail, or its answer may be lost. */
async function deliver(
  { wal, order }: Opened,
  segment: SealedSegment,
  run: Run,
  random: Random,
): Promise<void> {
  const earlier = order.numbersOf(segment.number);
  const stored = earlier.filter((number) => run.engine.has(`${number}:0`));
  if (stored.length === 0) {
    const rows = await rowsOf(wal, segment);
    const number = await order.take(segment.number, segment.organization, stored);
    if (random() < 0.2) throw new Error('the INSERT failed');
    for (const [position, id] of rows) {
      const place = `${number}:${position}`;
      assert.ok(!run.engine.has(place), `${place} is taken`);
      // By default of any organization.
      const owner = run.organizationOf.get(id);
      const owners = owner === undefined ? organizations : [owner];
      const watermark = Math.max(...owners.map((one) => run.watermarkOf.get(one) ?? 0));
      assert.ok(number >= watermark, `${place} comes after ${watermark} was the watermark`);
      run.engine.set(place, id);
    }
    if (random() < 0.2) throw new Error('the answer was lost');
  }
  order.settle(segment.number);
  await wal.release(segment);
}

async function deliverAll(wal: Wal): Promise<void> {
  for (const segment of wal.sealed()) await wal.release(segment);
}

async function history(opened: Opened, run: Run, random: Random, steps: number): Promise<void> {
  const { wal, order } = opened;
  for (let step = 0; step < steps; step++) {
    const choice = random();
    if (choice < 0.6) {
      const appends = [...Array(1 + Math.floor(random() * 4)).keys()].map(async () => {
        const frames = [...Array(1 + Math.floor(random() * 2)).keys()].map(() =>
          [...Array(1 + Math.floor(random() * 5)).keys()].map(() => run.nextId++),
        );
        run.appends.push(frames.flat());
        const owner = [...organizations, undefined][Math.floor(random() * 3)];
        if (owner !== undefined) for (const id of frames.flat()) run.organizationOf.set(id, owner);
        const inputs = frames.map((ids) => frameOf(ids, Math.floor(random() * 1500)));
        const segment = await wal.append(inputs, owner);
        for (const id of frames.flat()) run.acknowledged.set(id, segment);
      });
      await Promise.allSettled(appends);
    } else if (choice < 0.7) {
      const sealed = wal.seal().catch(() => undefined);
      // Otherwise during the next appends.
      if (random() < 0.5) await sealed;
    } else if (choice < 0.8) {
      const { lowest, ofOrganization } = order.watermarks();
      for (const one of organizations) {
        const own = Math.min(lowest, ofOrganization.get(one) ?? lowest);
        run.watermarkOf.set(one, Math.max(own, run.watermarkOf.get(one) ?? 0));
      }
    } else {
      // Others overtake large segments.
      const segment = wal.sealed()[Math.floor(random() * 2)];
      if (segment) await deliver(opened, segment, run, random).catch(onlyDisk);
    }
  }
}

function onlyDisk(error: unknown): void {
  if (error instanceof assert.AssertionError) throw error;
}

describe('write-ahead log', () => {
  it('keeps all acknowledged rows once, over power cuts and disk faults at any point', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 60 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 4 }),
        fc.integer({ min: 0 }),
        async (cutAfter, faults, seed) => {
          const random = randomOf(seed);
          const run = newRun();
          const disk = createTornFiles({ cutAfter, faultAt: new Set(faults), random });
          let now = Date.UTC(2026, 0, 1);
          // Time also jumps: a watermark must not exceed what the file of numbers allows.
          const clock = (): number => (now += random() < 0.05 ? 10_000 : 7);
          const first = await openOrdered(disk.files, clock, run).catch(() => undefined);
          if (first) await history(first, run, random, 12);

          // The clock may have been set back: numbers must not repeat.
          now -= Math.floor(random() * 2) * 100_000;
          const damage = new DamageRegister();
          const second = await openOrdered(disk.afterPowerCut(), clock, run, damage);
          assert.deepEqual(damage.list(), [], 'what was not acknowledged is no damage');
          await history(second, run, random, 4);
          await second.wal.seal();
          for (const segment of second.wal.sealed()) await deliver(second, segment, run, () => 0.9);

          const stored = [...run.engine.values()];
          assert.equal(new Set(stored).size, stored.length, 'an event is stored twice');
          const held = new Set(stored);
          for (const id of run.acknowledged.keys())
            assert.ok(held.has(id), `acknowledged event ${id} is lost`);
          for (const ids of run.appends) {
            const some = ids.filter((id) => held.has(id)).length;
            assert.ok(
              some === 0 || some === ids.length,
              `${some} of the ${ids.length} events of a request are stored`,
            );
          }
        },
      ),
      { numRuns: rounds(240, 800), includeErrorInReport: true },
    );
  });

  it('leaves no file open and counts its bytes, after any failure', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 1, max: 80 }), { maxLength: 12 }),
        fc.integer({ min: 0 }),
        async (faults, seed) => {
          const random = randomOf(seed);
          const run = newRun();
          const faultAt = new Set(faults);
          const disk = createTornFiles({ cutAfter: 1e9, faultAt, random });
          let now = Date.UTC(2026, 0, 1);
          const opened = await openOrdered(disk.files, () => (now += 700), run).catch(() => undefined);
          if (opened === undefined) return assert.equal(disk.handles(), 0);
          const { wal } = opened;
          await history(opened, run, random, 15);
          faultAt.clear();
          // A seal in progress may have failed for all that wait for it.
          await wal.seal().catch(() => undefined);
          await wal.append([frameOf([run.nextId++], 10)]);
          await wal.seal();
          const names = await disk.files.list();
          const sizes = await Promise.all(names.map(async (name) => (await disk.files.read(name)).length));
          const files = sizes.reduce((sum, size) => sum + size, 0);
          // A removal that happened but was reported as failed.
          const gone = wal.sealed().filter(({ number }) => !names.includes(segmentName(number)));
          const counted = wal.bytes() - gone.reduce((sum, { bytes }) => sum + bytes, 0);
          await wal.close();
          assert.equal(disk.handles(), 0, 'files stay open');
          assert.ok(counted <= files, `${counted} bytes are counted, ${files} are there`);
        },
      ),
      { numRuns: rounds(150, 300), includeErrorInReport: true },
    );
  });

  it('has let go of a segment though its file cannot be removed, and removes it later', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
    let isStuck = true;
    const remove = (name: string) =>
      isStuck ? Promise.reject(new Error('not now')) : disk.files.remove(name);
    const wal = await open({ ...disk.files, remove }, Date.now);
    await wal.append([frameOf([1], 10)]);
    await wal.seal();
    const [segment] = wal.sealed();
    await wal.release(segment as SealedSegment);
    assert.deepEqual(wal.sealed(), []);
    assert.equal((await disk.files.list()).length, 2);
    const bytes = wal.bytes();
    isStuck = false;
    await wal.append([frameOf([2], 10)]);
    await wal.seal();
    await wal.release(wal.sealed()[0] as SealedSegment);
    assert.equal((await disk.files.list()).length, 1);
    assert.ok(wal.bytes() < bytes);
  });

  it('takes appends while the next segment is made, and seals all the same when that fails', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
    let made = gate();
    made.open();
    const create = async (name: string) => {
      await made.passed;
      return disk.files.create(name);
    };
    const wal = await open({ ...disk.files, create }, Date.now);
    const first = await wal.append([frameOf([1], 10)]);

    made = gate();
    const sealing = wal.seal();
    assert.equal(await wal.append([frameOf([2], 10)]), first);
    assert.equal(await wal.append([frameOf([3], 10)]), first);
    assert.deepEqual(wal.sealed(), []);
    made.open();
    await sealing;
    assert.deepEqual(
      wal.sealed().map(({ number, rows }) => [number, rows]),
      [[first, 3]],
    );
    const second = await wal.append([frameOf([4], 10)]);
    assert.ok(second > first);

    made = gate();
    const failing = wal.seal();
    assert.equal(await wal.append([frameOf([5], 10)]), second);
    made.fail(Object.assign(new Error('no space'), { code: 'ENOSPC' }));
    await assert.rejects(failing, { code: 'unavailable' });
    assert.equal(wal.failure(), 'ENOSPC');
    const sealed = wal.sealed().at(-1) as SealedSegment;
    assert.deepEqual([sealed.number, sealed.rows], [second, 2], 'what it holds can leave the full disk');
    made = gate();
    made.open();
    assert.ok((await wal.append([frameOf([6], 10)])) > second);
    await wal.close();
  });

  it('writes a large append beside the open segment: smaller ones are acknowledged meanwhile', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
    const written = gate();
    let slices = 0;
    const create = async (name: string) => {
      const file = await disk.files.create(name);
      const append = async (parts: readonly Uint8Array[]) => {
        const isLarge = parts.some(({ length }) => length > 3000);
        if (isLarge) slices += 1;
        if (isLarge) await written.passed;
        return file.append(parts);
      };
      return { append, truncate: file.truncate, close: file.close };
    };
    const wal = await open({ ...disk.files, create }, Date.now, 1e9, undefined, 2000);
    const first = await wal.append([frameOf([1], 10)]);
    const large = wal.append([frameOf([2], 10), frameOf([3], 5000)]);
    assert.equal(await wal.append([frameOf([4], 10)]), first);
    await wal.seal();
    await deliverAll(wal);
    assert.equal(slices, 1, 'it is being written');
    await wal.append([frameOf([5], 10)]);
    written.open();
    const own = await large;
    assert.ok((await wal.append([frameOf([6], 10)])) > own, 'what comes later has a higher number');
    const sealed = wal.sealed().find(({ number }) => number === own) as SealedSegment;
    assert.deepEqual([sealed.rows, sealed.isLarge], [2, true]);
    const ids = (await rowsOf(wal, sealed)).map(([, id]) => id);
    assert.deepEqual(ids, [2, 3], 'and nothing else');
    await wal.close();
    const again = await open(disk.files, Date.now);
    const left = await Promise.all(again.sealed().map((segment) => rowsOf(again, segment)));
    assert.deepEqual(
      left.flat().map(([, id]) => id),
      [5, 2, 3, 6].toSorted((a, b) => a - b),
    );
    await again.close();
  });

  it('keeps the file of a large append until a higher number is on disk', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
    let creatable = 2;
    const create = async (name: string) => {
      creatable -= 1;
      if (creatable < 0) throw Object.assign(new Error('no'), { code: 'EIO' });
      return disk.files.create(name);
    };
    const wal = await open({ ...disk.files, create }, Date.now, 1e9, undefined, 2000);
    const own = await wal.append([frameOf([1], 5000)]);
    const [sealed] = wal.sealed();
    assert.equal(sealed?.number, own, 'it is durable though no other segment can be made');
    await wal.release(sealed);
    assert.ok((await disk.files.list()).includes(segmentName(own)));
    creatable = 1e9;
    await wal.append([frameOf([2], 10)]);
    await wal.seal();
    assert.ok((await wal.append([frameOf([3], 10)])) > own);
    await wal.close();
    assert.ok(!(await disk.files.list()).includes(segmentName(own)));
  });

  it('does not hold the failure of a segment against the one after it', async () => {
    const faultAt = new Set<number>();
    const disk = createTornFiles({ cutAfter: 1e9, faultAt, random: () => 0.9 });
    let made = gate();
    made.open();
    const create = async (name: string) => {
      await made.passed;
      return disk.files.create(name);
    };
    const wal = await open({ ...disk.files, create }, Date.now);
    made = gate();
    await wal.append([frameOf([1], 4000)]);
    // It is full, and the next one is being made, when the disk fails for both.
    faultAt.add(disk.operations() + 1);
    await assert.rejects(wal.append([frameOf([2], 10)]), { code: 'unavailable' });
    made.fail(new Error('no'));
    made = gate();
    made.open();
    await sleep(5);
    await wal.append([frameOf([3], 10)]);
    await wal.close();
  });

  it('does not let a segment grow without end while the next one cannot be made', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
    const held = gate();
    let isHeld = false;
    const create = async (name: string) => {
      if (isHeld) await held.passed;
      return disk.files.create(name);
    };
    const wal = await open({ ...disk.files, create }, Date.now);
    isHeld = true;
    const appends = [...Array(40).keys()].map((id) => wal.append([frameOf([id], 1000)]));
    for (let done = 0; done < 3; done++) await appends[done];
    const late = [...Array(40).keys()].map((id) => wal.append([frameOf([100 + id], 1000)]));
    await sleep(20);
    // Sealed at 4000 bytes; the first appends are one group.
    assert.ok(wal.sealed().every(({ rows }) => rows === 40));
    assert.equal(wal.sealed().length, 1, 'twice the size is reached');
    held.open();
    await Promise.all([...appends, ...late]);
    await wal.close();
  });

  it('answers 503 while the disk fails and continues afterwards', async () => {
    const faultAt = new Set<number>();
    const disk = createTornFiles({ cutAfter: 1e9, faultAt, random: () => 0.9 });
    const wal = await open(disk.files, Date.now);
    await wal.append([frameOf([1], 10)]);
    for (const next of [1, 2, 3, 4]) faultAt.add(disk.operations() + next);
    await assert.rejects(wal.append([frameOf([2], 10)]), { code: 'unavailable' });
    assert.equal(wal.failure(), 'EIO');
    // The log notices a working disk by itself, without a request.
    const deadline = Date.now() + 15_000;
    while (wal.failure() !== undefined && Date.now() < deadline) await sleep(100);
    assert.equal(wal.failure(), undefined);
    await wal.append([frameOf([3], 10)]);
    await wal.seal();
    const ids = (await Promise.all(wal.sealed().map((segment) => rowsOf(wal, segment))))
      .flat()
      .map(([, id]) => id);
    assert.deepEqual(ids, [1, 3]);
  });

  it('keeps rows around damage, reports it, and saves the file as evidence', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: Math.random });
    const wal = await open(disk.files, Date.now);
    for (const id of [1, 2, 3]) await wal.append([frameOf([id], 100)]);
    await wal.close();
    const name = (await disk.files.list())[0] as string;
    const content = await disk.files.read(name);
    // One bit in the payload of the second frame.
    const second = content.indexOf('FRAM', content.indexOf('FRAM', 32 + 48) + 48);
    content[second + 100] = (content[second + 100] as number) ^ 1;
    await overwrite(disk.files, name, content);

    const reported: string[] = [];
    const loud = {
      ...log,
      error: (facts: object, words: string) => reported.push(JSON.stringify(facts) + words),
    };
    const again = await Wal.open({
      files: disk.files,
      log: loud,
      segmentBytes: 4000,
      bytesMax: 1e9,
      nowMs: Date.now,
      damage: new DamageRegister(),
    });
    const ids = (await rowsOf(again, again.sealed()[0] as SealedSegment)).map(([, id]) => id);
    assert.deepEqual(ids, [1, 3]);
    assert.equal(reported.length, 1);
    const range = `"from":${second},"to":${second + 152},"rowsKept":2`;
    assert.match(reported[0] as string, new RegExp(`${range}.*damaged on disk`));
    await again.release(again.sealed()[0] as SealedSegment);
    assert.ok((await disk.files.list()).includes(name.replace('.wal', '.damaged')));
  });

  it('refuses a log that another release wrote', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: Math.random });
    const wal = await open(disk.files, Date.now);
    await wal.append([frameOf([1], 100)]);
    await wal.close();
    const name = (await disk.files.list())[0] as string;
    const content = await disk.files.read(name);
    content.writeUInt32LE(9, 8);
    content.writeUInt32LE(crc32c(content.subarray(0, 28)), 28);
    await overwrite(disk.files, name, content);
    await assert.rejects(open(disk.files, Date.now), /has format 9, this release reads format 1;/);
    assert.deepEqual(await disk.files.read(name), content);
  });
});

describe('a disk that is full when the log is opened', () => {
  const full = Object.assign(new Error('no room'), { code: 'ENOSPC' });
  const clock = () => Date.UTC(2026, 0, 1);

  it('keeps its rows for readers, refuses writes, and accepts them once there is room', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: randomOf(7) }).files;
    const first = await open(disk, clock);
    const stored = await first.append([frameOf([1, 2], 10)]);
    await first.close();
    let hasRoom = false;
    const made: string[] = [];
    const files: LogFiles = {
      ...disk,
      create: async (name) => {
        const file = await disk.create(name);
        made.push(name);
        const append = (parts: readonly Uint8Array[]) =>
          hasRoom ? file.append(parts) : Promise.reject(full);
        return { append, truncate: file.truncate, close: file.close };
      },
    };
    const wal = await open(files, clock);
    assert.equal(wal.failure(), 'ENOSPC');
    assert.deepEqual(
      wal.sealed().map(({ number }) => number),
      [stored],
    );
    await assert.rejects(wal.append([frameOf([3], 10)]), { code: 'unavailable' });
    // The attempts leave nothing behind, and the last number stays on disk: later ones are above it.
    assert.ok(made.length >= 2);
    assert.deepEqual(await disk.list(), [segmentName(stored)]);
    const [segment] = wal.sealed();
    assert.ok(segment);
    await assert.rejects(wal.release(segment));
    assert.deepEqual(await disk.list(), [segmentName(stored)]);
    hasRoom = true;
    assert.ok((await wal.append([frameOf([3], 10)])) > stored);
    assert.equal(wal.failure(), undefined);
    await wal.release(segment);
    await wal.close();
  });

  it('is one of few faults: with another the log cannot be opened', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: randomOf(8) }).files;
    const broken = Object.assign(new Error('bad sector'), { code: 'EIO' });
    const files: LogFiles = { ...disk, create: () => Promise.reject(broken) };
    await assert.rejects(open(files, clock), { code: 'EIO' });
  });
});

describe('a disk that the log leaves room on', () => {
  it('takes no more than leaves so much free, and writes again by itself', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 }).files;
    let freeBytes = 10_000;
    const asked: number[] = [];
    const files: LogFiles = {
      ...disk,
      freeBytes() {
        asked.push(freeBytes);
        return Promise.resolve(freeBytes);
      },
    };
    const wal = await Wal.open({
      files,
      log,
      segmentBytes: 4000,
      bytesMax: 1e9,
      keepFreeBytes: { producers: 8000, service: 2000 },
      nowMs: Date.now,
      damage: new DamageRegister(),
    });
    const askedOnceMore = async () => {
      const goal = asked.length + 1;
      while (asked.length < goal) {
        wal.failure();
        await sleep(5);
      }
    };
    await wal.append([frameOf([1], 10)]);
    assert.equal(wal.failure(), undefined);
    await assert.rejects(wal.append([frameOf([2], 3000)]), { code: 'unavailable', message: /full/ });
    assert.equal(wal.failure(), 'full');
    freeBytes = 7000;
    await askedOnceMore();
    await assert.rejects(wal.append([frameOf([3], 10)]), { code: 'unavailable' });
    assert.equal(wal.failure('service'), undefined, 'which has a reserve');
    await wal.append([frameOf([3], 10)], undefined, 'service');
    await assert.rejects(wal.append([frameOf([3], 6000)], undefined, 'service'), { code: 'unavailable' });
    assert.equal(wal.failure('service'), 'full');
    // Existing segments can be sealed and removed, which makes room.
    await wal.seal();
    await deliverAll(wal);
    freeBytes = 20_000;
    const before = asked.length;
    while (wal.failure() !== undefined) await sleep(5);
    assert.ok(asked.length - before <= 2, 'it is not asked at every look');
    await wal.append([frameOf([4], 3000)]);
    await wal.close();
  });
});
