import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { toReadable } from '../../src/base/byte-flow.ts';
import { limits } from '../../src/storage/limits.ts';
import { createGuardedFlow } from '../../src/storage/guarded-flow.ts';
import { exceptionInTail, refusal, shortMessage } from '../../src/storage/response-body.ts';
import { EngineError } from '../../src/base/engine-error.ts';

const tag = 'abcdefghijklmnop';

/** A guarded flow whose source counts what it is asked. */
function createScene() {
  const asked = { resumed: 0, destroyed: 0 };
  const source = { resume: () => void asked.resumed++, destroy: () => void asked.destroyed++ };
  const guarded = createGuardedFlow(source);
  guarded.tagged(tag);
  return { ...guarded, asked };
}

/** What the sink of a flow hears when the pieces come, before or after it began to listen. */
function hear(pieces: readonly Uint8Array[], listensAfter: number, failure?: EngineError) {
  const { flow, sink } = createScene();
  const received: Buffer[] = [];
  const ends: (Error | 'end')[] = [];
  const listen = (): void =>
    flow.to({
      data: (piece) => received.push(Buffer.from(piece)) > 0,
      end: () => void ends.push('end'),
      failed: (error) => void ends.push(error),
    });
  // A piece is lent: it is overwritten once it has been handed over.
  pieces.forEach((piece, index) => {
    if (index === listensAfter) listen();
    const lent = Buffer.from(piece);
    sink.data(lent);
    lent.fill('?');
  });
  if (failure === undefined) sink.end();
  else sink.failed(failure);
  if (listensAfter >= pieces.length) listen();
  return { received: Buffer.concat(received), ends };
}

function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

test('a clean body arrives whole, however it is cut and whenever it is listened to', () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 12 });
  fc.assert(
    fc.property(sizes, fc.nat(12), (lengths, listensAfter) => {
      const pieces = lengths.map((size, index) => Buffer.alloc(size, index + 1));
      const { received, ends } = hear(pieces, listensAfter);
      assert.ok(received.equals(Buffer.concat(pieces)));
      assert.deepEqual(ends, ['end']);
    }),
    { numRuns: 100 },
  );
});

test('an exception behind the rows is a failure even when the connection ends cleanly, however it is cut', () => {
  const message = `Code: 241. DB::Exception: ${'memory '.repeat(50)}`;
  const trailer = `\r\n__exception__\r\n${tag}\r\n${message}\n${message.length} ${tag}\r\n__exception__\r\n`;
  const bytes = Buffer.concat([Buffer.alloc(100_000, 'r'), Buffer.from(trailer)]);
  const cuts = fc.array(fc.integer({ min: 1, max: bytes.length }), { maxLength: 8 });
  fc.assert(
    fc.property(cuts, fc.nat(8), fc.boolean(), (at, listensAfter, broken) => {
      const failure = broken ? new EngineError('unreachable', 'cut') : undefined;
      const { received, ends } = hear(cut(bytes, at), listensAfter, failure);
      const [error] = ends;
      assert.equal(ends.length, 1);
      assert.ok(error instanceof EngineError && error.failure === 'refused' && error.engineCode === 241);
      assert.equal(received.includes('_'), false);
    }),
    { numRuns: 100 },
  );
});

test('a connection that breaks is a failure, with what came before', () => {
  const cutOff = new EngineError('unreachable', 'cut');
  const { received, ends } = hear([Buffer.alloc(100_000, 'r')], 0, cutOff);
  assert.deepEqual(ends, [cutOff]);
  assert.equal(received.length, 100_000 - limits.engineTailBytes);
});

test('words that look like an exception are rows when the tag is another', () => {
  const text = Buffer.from('\r\n__exception__\r\nponmlkjihgfedcba\r\nCode: 1. DB::Exception: x\n');
  assert.equal(exceptionInTail(text, tag), undefined);
  assert.equal(exceptionInTail(text, undefined), undefined);
  assert.equal(exceptionInTail(text, ''), undefined);
});

test('a pause of the reader reaches the source, and a reader that goes away ends it', async () => {
  const { flow, sink, asked } = createScene();
  const body = toReadable(flow);
  body.read();
  let written = 0;
  while (sink.data(Buffer.alloc(64 * 1024))) assert.ok((written += 64 * 1024) < 1024 * 1024, 'no pause');
  const before = asked.resumed;
  while (body.read() !== null);
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(asked.resumed > before, 'nobody asks for more');
  let closed = 0;
  flow.onClosed(() => closed++);
  body.destroy();
  assert.deepEqual([asked.destroyed, closed], [1, 1]);
  flow.onClosed(() => closed++);
  flow.destroy();
  assert.deepEqual([asked.destroyed, closed], [1, 2]);
});

test('refusals have the number and the words of the innermost exception, on one bounded line', () => {
  const plain =
    "Code: 60. DB::Exception: Unknown table expression identifier 'x'. (UNKNOWN_TABLE) (version 26.5)";
  const wrapped = `Code: 57. DB::Exception: There was an error on [host:9000]: ${plain}. (UNKNOWN_TABLE) (version 26.5)`;
  for (const text of [plain, wrapped]) {
    const error = refusal(404, '60', text);
    assert.equal(error.failure, 'refused');
    assert.equal(error.message, "UNKNOWN_TABLE Unknown table expression identifier 'x'.");
  }
  assert.equal(refusal(404, '60', plain).engineCode, 60);
  assert.equal(refusal(500, '241', 'no words').engineCode, 241);
  const proxy = refusal(502, undefined, '<html>Bad Gateway</html>');
  assert.deepEqual([proxy.failure, proxy.engineCode], ['unreachable', undefined]);
  assert.equal(shortMessage('  a\n\tb '), 'a b');
  assert.equal(shortMessage('x'.repeat(5000)).length, limits.engineErrorCharactersMax + 1);
});
