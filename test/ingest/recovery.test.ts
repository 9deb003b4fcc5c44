import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { DamageRegister } from '../../src/base/observability/damage.ts';
import { createLogger } from '../../src/base/observability/log.ts';
import type { LogFiles } from '../../src/ingest/files.ts';
import {
  encodeFileHeader,
  encodeRequests,
  frameSeed,
  scanSegment,
  segmentName,
  segmentOfName,
} from '../../src/ingest/segment.ts';
import { nextSegmentNumber, segmentNumberMax } from '../../src/base/events/sequence.ts';
import type { SealedSegment } from '../../src/ingest/sealed-segments.ts';
import { Wal } from '../../src/ingest/wal.ts';
import { createTornFiles, type Random } from '../support/torn-files.ts';
import { encodeHead } from '../../src/ingest/log-head.ts';
import { frameOf, overwrite, randomOf, rowsOf } from './log-support.ts';
import { rounds } from '../support/rounds.ts';

const silent = createLogger('silent');

interface Opened {
  readonly wal: Wal;
  /** Numbers of the segments known to be damaged. */
  damaged(): number[];
  /** Messages in the operational log at level error. */
  readonly errors: string[];
}

async function open(files: LogFiles, nowMs: () => number = Date.now): Promise<Opened> {
  const damage = new DamageRegister();
  const errors: string[] = [];
  const log = {
    ...silent,
    info: () => undefined,
    warn: () => undefined,
    error: (facts: object, words: string) => errors.push(`${JSON.stringify(facts)} ${words}`),
  };
  const sizes = { segmentBytes: 4000, largeBytes: 1200, bytesMax: 1e9 };
  const wal = await Wal.open({ files, log, ...sizes, nowMs, damage });
  return { wal, errors, damaged: () => damage.list().map(({ id }) => Number(id)) };
}

/** Acknowledged events, and events in the engine. */
interface Run {
  /** Segment by id. */
  readonly acknowledged: Map<number, number>;
  /** Id by `segment:row`. */
  readonly engine: Map<string, number>;
}

async function deliver(wal: Wal, segment: SealedSegment, run: Run): Promise<void> {
  for (const [row, id] of await rowsOf(wal, segment)) run.engine.set(`${segment.number}:${row}`, id);
  await wal.release(segment);
}

/** A log with some stored segments and some unstored ones, closed cleanly. */
async function writeLog(files: LogFiles, run: Run, random: Random): Promise<void> {
  const { wal } = await open(files);
  let id = 0;
  for (let segment = 2 + Math.floor(random() * 5); segment > 0; segment--) {
    for (let append = 1 + Math.floor(random() * 4); append > 0; append--) {
      const ids = Array.from({ length: 1 + Math.floor(random() * 4) }, () => ++id);
      const number = await wal.append(
        random() < 0.5 ? [frameOf(ids, 60)] : ids.map((one) => frameOf([one], Math.floor(random() * 600))),
      );
      for (const one of ids) run.acknowledged.set(one, number);
    }
    await wal.seal();
    const [first] = wal.sealed();
    if (first !== undefined && random() < 0.4) await deliver(wal, first, run);
  }
  await wal.close();
}

const ways = ['flip', 'cut', 'cut a frame', 'zeros', 'empty', 'delete', 'copy', 'rename', 'garbage'] as const;
type Way = (typeof ways)[number];

function flipped(content: Buffer, random: Random): Buffer {
  const place = Math.floor(random() * content.length);
  content[place] = (content[place] as number) ^ (1 << Math.floor(random() * 8));
  return content;
}

/** Changes a file as disks and people do; every way but a copy damages it. */
async function harm(files: LogFiles, name: string, way: Way, random: Random): Promise<void> {
  const content = await files.read(name);
  const other = segmentName((segmentOfName(name) ?? 0) + 1 + Math.floor(random() * 40));
  switch (way) {
    case 'flip':
      return overwrite(files, name, flipped(content, random));
    case 'cut':
      return overwrite(files, name, content.subarray(0, Math.floor(random() * content.length)));
    case 'cut a frame':
      return overwrite(files, name, content.subarray(0, content.lastIndexOf('FRAM')));
    case 'zeros':
      return overwrite(files, name, Buffer.alloc(content.length));
    case 'empty':
      return overwrite(files, name, Buffer.alloc(0));
    case 'delete':
      return files.remove(name);
    case 'copy':
      return overwrite(files, random() < 0.3 ? name.replace(/^00/, '99') : other, content);
    case 'rename':
      return files.rename(name, other);
    case 'garbage':
      return overwrite(files, name, Buffer.concat([content.subarray(0, 40), Buffer.from('no log')]));
  }
}

/** Every acknowledged event is in the engine, or its segment is reported. */
function nothingInSilence(run: Run, damaged: readonly number[]): void {
  const stored = [...run.engine.values()];
  const held = new Set(stored);
  assert.equal(held.size, stored.length, 'an event is stored twice');
  for (const [id, segment] of run.acknowledged)
    assert.ok(held.has(id) || damaged.includes(segment), `${id} of segment ${segment} is lost in silence`);
}

/** The segment with the last manifest. */
async function lastManifestIn(files: LogFiles, names: readonly string[]): Promise<number> {
  let last = { number: 0, version: -1 };
  for (const name of names) {
    const number = segmentOfName(name) ?? 0;
    const version = scanSegment(await files.read(name), number).manifest?.version ?? -1;
    if (version >= last.version) last = { number, version };
  }
  return last.number;
}

describe('recovery of the log', () => {
  it('delivers each acknowledged event of a harmed log once, or reports its segment', async () => {
    const seen = new Set<Way>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...ways), { maxLength: 3 }),
        fc.integer({ min: 0 }),
        async (harms, seed) => {
          const random = randomOf(seed);
          const disk = createTornFiles({ cutAfter: 1e9, random });
          const run: Run = { acknowledged: new Map(), engine: new Map() };
          await writeLog(disk.files, run, random);
          const names = (await disk.files.list()).filter((name) => name.endsWith('.wal'));
          const victims = names.toSorted(() => random() - 0.5).slice(0, harms.length);
          const last = await lastManifestIn(disk.files, names);
          const numbers = victims.map((name) => segmentOfName(name) as number);
          for (const [index, name] of victims.entries()) {
            const way = harms[index] as Way;
            seen.add(way);
            await harm(disk.files, name, way, random);
          }

          const isBlind = numbers.some((number, index) => number === last && harms[index] !== 'copy');
          const { wal, damaged } = await open(disk.files);
          const strays = harms.slice(0, victims.length).filter((way) => way === 'copy' || way === 'rename');
          const kept = (await disk.files.list()).filter((name) => name.endsWith('.unknown'));
          assert.equal(kept.length, strays.length, 'what is not understood is kept');
          const reported = damaged();
          assert.ok(
            // Without the last manifest, segments are reported, too, that only it omitted.
            isBlind || reported.every((number) => numbers.includes(number)),
            `${reported.join()} reported, ${numbers.join()} harmed`,
          );
          for (const segment of wal.sealed()) await deliver(wal, segment, run);
          // Segments named only by the last manifest are reported together.
          if (!isBlind || reported.length === 0) nothingInSilence(run, reported);
          await wal.close();
          // Each loss is reported once; later reports come from kept files.
          const later = await open(disk.files);
          assert.deepEqual(later.wal.sealed(), []);
          assert.deepEqual(later.errors, []);
          assert.deepEqual(
            later.damaged().toSorted((a, b) => a - b),
            reported.toSorted((a, b) => a - b),
          );
          await later.wal.close();
        },
      ),
      { numRuns: rounds(150, 400), includeErrorInReport: true },
    );
    assert.equal(seen.size, ways.length);
  });

  it('omits a request whose end a torn write lacks, with any bytes behind it', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
    const number = nextSegmentNumber(Date.UTC(2026, 0, 1), 3, 0);
    const position = { seed: frameSeed(number), firstRow: 0, durableBytes: 32 };
    const requests = [{ frames: [frameOf([1], 20), frameOf([2], 20)] }, { frames: [frameOf([3], 20)] }];
    const [first, second, third] = encodeRequests(requests, position).map(({ parts }) =>
      Buffer.concat(parts),
    );
    second?.fill(0);
    const parts = [encodeFileHeader(number), first, second, third].filter((part) => part !== undefined);
    await overwrite(disk.files, segmentName(number), Buffer.concat(parts));
    await disk.files.head.write(encodeHead({ newest: number, closed: undefined }));
    const { wal, damaged } = await open(disk.files);
    assert.deepEqual([wal.sealed(), damaged()], [[], []]);
    await wal.close();
  });

  it('names missing segments with their rows, once', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
    const { wal } = await open(disk.files);
    const number = await wal.append([frameOf([1, 2, 3], 10)]);
    await wal.seal();
    await wal.close();
    await disk.files.remove(segmentName(number));
    const after = await open(disk.files);
    assert.equal(after.errors.length, 1);
    assert.match(after.errors[0] as string, new RegExp(`"segment":${number},"rowsWritten":3}.* is missing`));
    await after.wal.close();
    const later = await open(disk.files);
    assert.deepEqual([later.errors, later.damaged()], [[], [number]]);
    // An operator who has dealt with it removes the note.
    await later.wal.close();
    await disk.files.remove(segmentName(number).replace('wal', 'missing'));
    assert.deepEqual((await open(disk.files)).damaged(), []);
  });

  it('reports the loss of the newest segments, or all', async () => {
    for (const left of [3, 0]) {
      const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
      const { wal } = await open(disk.files);
      const numbers: number[] = [];
      for (let id = 1; id <= 6; id++) {
        numbers.push(await wal.append([frameOf([id, id + 100], 10)]));
        if (id < 6) await wal.seal();
      }
      const files = disk.afterPowerCut();
      const names = (await files.list()).filter((name) => name.endsWith('.wal'));
      for (const name of names.slice(left)) await files.remove(name);
      const after = await open(files);
      const newest = numbers.at(-1) as number;
      assert.ok(after.damaged().some((number) => number >= newest));
      assert.ok(after.errors.some((line) => line.includes('The newest segments of the log are missing')));
      const sealed = after.wal.sealed().map(({ number }) => number);
      assert.deepEqual(sealed, numbers.slice(0, left));
      assert.ok((await after.wal.append([frameOf([9], 10)])) > (numbers.at(-1) as number));
      await after.wal.close();
      assert.deepEqual((await open(files)).errors, []);
    }
  });

  it('reports nothing for an empty closed log, and says when it cannot know', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
    const { wal } = await open(disk.files);
    await wal.append([frameOf([1], 10)]);
    await wal.seal();
    for (const segment of wal.sealed()) await wal.release(segment);
    await wal.close();
    for (const name of await disk.files.list()) await disk.files.remove(name);
    const after = await open(disk.files);
    assert.deepEqual([after.errors, after.damaged()], [[], []]);
    await after.wal.close();
    await disk.files.head.write(Buffer.from('no head'));
    const blind = await open(disk.files);
    assert.match(blind.errors.join(), /wal-head is damaged: cannot check that the newest segments/);
    await blind.wal.close();
    assert.deepEqual((await open(disk.files)).errors, []);
    const full = await open(disk.files);
    await full.wal.append([frameOf([2], 10)]);
    await full.wal.close();
    await disk.files.head.remove();
    assert.match((await open(disk.files)).errors.join(), /wal-head is missing: cannot check that the newest/);
  });

  it('knows how long the open segment was when the log was closed', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
    const { wal } = await open(disk.files);
    const number = await wal.append([frameOf([1], 10)]);
    await wal.append([frameOf([2], 10)]);
    await wal.close();
    const content = await disk.files.read(segmentName(number));
    // At a frame's border: the rest of the file is intact.
    await overwrite(disk.files, segmentName(number), content.subarray(0, content.lastIndexOf('FRAM')));
    const after = await open(disk.files);
    assert.deepEqual(after.damaged(), [number]);
    assert.match(after.errors.join(), /"rowsKept":1,"rowsWritten":2/);
  });

  it('reports a refused segment as long as its file exists', async () => {
    const disk = createTornFiles({ cutAfter: 1e9, random: () => 0.9 });
    const { wal } = await open(disk.files);
    const number = await wal.append([frameOf([1, 2, 3], 10)]);
    await wal.seal();
    const [segment] = wal.sealed();
    assert.ok(segment !== undefined);
    await wal.quarantine(segment, 'refused');
    await wal.close();
    const later = await open(disk.files);
    assert.deepEqual([later.errors, later.damaged()], [[], [number]]);
    await later.wal.close();
    await disk.files.remove(segmentName(number).replace('wal', 'refused'));
    assert.deepEqual((await open(disk.files)).damaged(), []);
  });

  it('reads every number that it gives out, with any clock', () => {
    const clock = fc.oneof(fc.integer({ min: 0, max: 8.64e15 }), fc.constant(Date.UTC(2026, 0, 1)));
    const taken = fc.oneof(
      fc.integer({ min: 0, max: segmentNumberMax - 64 }),
      fc.constant(segmentNumberMax - 64),
    );
    fc.assert(
      fc.property(clock, fc.nat(63), taken, (nowMs, writer, after) => {
        const number = nextSegmentNumber(nowMs, writer, after);
        assert.ok(number > after && number <= segmentNumberMax);
        assert.equal(segmentOfName(segmentName(number)), number);
      }),
    );
    assert.throws(() => nextSegmentNumber(0, 0, segmentNumberMax), /no segment number remains/);
    assert.equal(segmentOfName(`${segmentNumberMax + 1}.wal`), undefined);
    assert.equal(segmentOfName('9999999999999999.wal'), undefined);
  });
});
