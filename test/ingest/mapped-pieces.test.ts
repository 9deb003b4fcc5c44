import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { limits } from '../../src/ingest/limits.ts';
import { MappedPieces } from '../../src/ingest/mapped-pieces.ts';
import type { Answered, MapResult } from '../../src/ingest/task.ts';

/** A mapped piece of a body with this number of accepted events, and perhaps a rejected one. */
function piece(accepted: number, isOneRejected = false): MapResult {
  const answer = { accepted, rejected: isOneRejected ? 1 : 0, errors: [] };
  const rejections = isOneRejected ? [{ reason: 'object' as const, events: 1, first: 'no object' }] : [];
  const outcome: Answered = {
    kind: 'answered',
    answer,
    bodyHash: undefined,
    rejections,
    hasTooManyRejected: false,
  };
  return {
    input: undefined,
    buffer: new ArrayBuffer(0),
    blocks: [],
    accepted: new Uint32Array(1),
    outcomes: new Map([[0, outcome]]),
  };
}

test('the pieces of a body may have so many events, rejected ones among them, and not one more', () => {
  const half = limits.batchEventsMax / 2;
  const pieces = new MappedPieces(10);
  pieces.add(0, piece(half), 1);
  pieces.add(1, piece(half - 1, true), 1);
  assert.equal(pieces.isOver(), false);
  const most = pieces.outcome(undefined);
  assert.deepEqual(most.kind === 'answered' && [most.answer.accepted, most.answer.rejected], [
    2 * half - 1,
    1,
  ]);

  pieces.add(2, piece(1), 1);
  assert.equal(pieces.isOver(), true);
  const over = pieces.outcome(undefined);
  assert.equal(over.kind === 'problem' && over.code, 'too_many_events');
  // Rejected events of a refused body count.
  assert.equal(over.rejections?.length, 1);
});
