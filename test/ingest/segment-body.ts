import { strict as assert } from 'node:assert';
import * as fc from 'fast-check';
import type { SegmentInsert } from '../../src/base/events/segment-insert.ts';
import { encodeSeqColumn, nextSegmentNumber, segmentSeqRange } from '../../src/base/events/sequence.ts';
import { BlockBuilder } from '../../src/ingest/native-block.ts';
import { encoded, type Row } from '../ocsf/arbitrary.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 80 });
/** A row of the table as a worker encodes it. */
export const row: fc.Arbitrary<Row> = fc.record({
  org: fc.uuid(),
  // Long enough that no row has expired: the engine may delete expired rows at any merge.
  retentionDays: fc.option(fc.integer({ min: 25_000, max: 80_000 }), { nil: undefined }),
  timeMicros: fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(0, 7_258_118_399_999_999) },
    { weight: 9, arbitrary: fc.integer({ min: 1_790_000_000_000_000, max: 1_792_000_000_000_000 }) },
  ),
  activityId: fc.maxSafeInteger(),
  activityName: text,
  severity: fc.constantFrom('Informational', 'Medium', 'High'),
  status: fc.constantFrom('Success', 'Failure'),
  level: text,
  resultCode: fc.maxSafeInteger(),
  actorEmail: text,
  actorId: text,
  names: fc.array(text, { maxLength: 3 }),
  fileHashes: fc.array(text, { maxLength: 3 }),
  fileName: text,
  targetName: text,
  flowId: fc.oneof(fc.constant(''), fc.uuid()),
  ocsf: fc.oneof(text, fc.constantFrom('x'.repeat(127), 'x'.repeat(128), 'é'.repeat(64), 'é'.repeat(9000))),
  source: fc.oneof(text, fc.constantFrom('y'.repeat(16_383), 'y'.repeat(16_384), '𝄞'.repeat(5000))),
});

/** The segment's body as the batcher sends it: each block with its order column. */
export function bodyOf(segment: number, blocks: readonly (readonly Row[])[]): Uint8Array[] {
  const builder = new BlockBuilder();
  let firstRow = 0;
  return blocks.flatMap((rows) => {
    for (const one of rows) builder.add(encoded(one));
    const block = new Uint8Array(builder.bytes());
    assert.equal(builder.finish(block, 0), block.length);
    const seq = encodeSeqColumn(segment, firstRow, rows.length);
    firstRow += rows.length;
    return [block, seq];
  });
}

/** Successive segments for the engine, each perhaps sent repeatedly. */
export class SentSegments {
  /** Numbers of the first and the latest attempt for the present segment. */
  #first = 0;
  #last = 0;

  /** Begins another segment; its first attempt has this number. */
  begin(): number {
    this.#last = nextSegmentNumber(Date.now(), 5, this.#last);
    this.#first = this.#last;
    return this.#first;
  }

  /** The possible order numbers of its rows, inclusive. */
  get range(): { first: string; last: string } {
    return { first: segmentSeqRange(this.#first).first, last: segmentSeqRange(this.#last).last };
  }

  /** The first attempt, or with doubt a later one. */
  insertOf(blocks: readonly (readonly Row[])[], doubtful: boolean): SegmentInsert {
    return {
      segment: 1,
      rows: blocks.flat().length,
      earlier: doubtful ? [...new Set([this.#first, this.#last])] : [],
      isDamaged: false,
      take: () => {
        if (doubtful) this.#last = nextSegmentNumber(Date.now(), 5, this.#last);
        return Promise.resolve(this.#last);
      },
      body: (number) => bodyOf(number, blocks),
    };
  }
}
