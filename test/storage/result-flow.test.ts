import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { toReadable } from '../../src/base/bytes/byte-flow.ts';
import { limits } from '../../src/storage/limits.ts';
import type { ByteFlow } from '../../src/base/bytes/byte-flow.ts';
import type { ByteReader, Receiver } from '../../src/storage/byte-reader.ts';
import { readBytes, readFlow } from '../../src/storage/result-flow.ts';
import { EngineError } from '../../src/base/errors/engine-error.ts';

const tag = 'abcdefghijklmnop';

/** A read, and the receiver of its answer; the reader counts what it is asked. */
function createScene() {
  const asked = { resumed: 0, destroyed: 0 };
  const failures: EngineError[] = [];
  let answer: Receiver | undefined;
  const reader = {
    post: (_target: string, _query: string, receiver: Receiver) => {
      answer = receiver;
      return { resume: () => void asked.resumed++, destroy: () => void asked.destroyed++ };
    },
  } as unknown as ByteReader;
  const read = {
    target: '/',
    query: 'SELECT 1',
    timeoutMs: 60_000,
    signal: undefined,
    onFailure: (error: EngineError) => void failures.push(error),
  };
  const begin = (status = 200, name = 'tag', value = tag): Receiver => {
    assert.ok(answer);
    answer.head(status, new Map([[`x-clickhouse-exception-${name}`, value]]));
    return answer;
  };
  return { asked, failures, reader, read, begin };
}

/** What the sink of a flow hears when the pieces come, before or after it began to listen. */
async function hear(pieces: readonly Uint8Array[], listensAfter: number, failure?: Error) {
  const scene = createScene();
  const opening = readFlow(scene.reader, scene.read);
  const answer = scene.begin();
  const flow = await opening;
  const received: Buffer[] = [];
  const ends: (Error | 'end')[] = [];
  const listen = (): void =>
    flow.to({
      data: (piece) => received.push(Buffer.from(piece)) > 0,
      end: () => void ends.push('end'),
      failed: (error) => void ends.push(error),
    });
  give(answer, pieces, (index) => {
    if (index === listensAfter) listen();
  });
  if (failure === undefined) answer.end();
  else answer.failed(failure);
  if (listensAfter >= pieces.length) listen();
  return { received: Buffer.concat(received), ends, failures: scene.failures };
}

/** A piece is lent: it is overwritten once it has been handed over. */
function give(answer: Receiver, pieces: readonly Uint8Array[], before: (index: number) => void = () => {}) {
  pieces.forEach((piece, index) => {
    before(index);
    const lent = Buffer.from(piece);
    answer.data(lent);
    lent.fill('?');
  });
}

function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

const sizes = fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 12 });

test('a clean body arrives whole, however it is cut and whenever it is listened to', () => {
  return fc.assert(
    fc.asyncProperty(sizes, fc.nat(12), async (lengths, listensAfter) => {
      const pieces = lengths.map((size, index) => Buffer.alloc(size, index + 1));
      const { received, ends } = await hear(pieces, listensAfter);
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
  return fc.assert(
    fc.asyncProperty(cuts, fc.nat(8), fc.boolean(), async (at, listensAfter, broken) => {
      const failure = broken ? new Error('cut') : undefined;
      const { received, ends, failures } = await hear(cut(bytes, at), listensAfter, failure);
      const [error] = ends;
      assert.equal(ends.length, 1);
      assert.deepEqual(failures, ends, 'the log hears of it, too');
      assert.ok(error instanceof EngineError && error.failure === 'refused' && error.engineCode === 241);
      assert.equal(received.includes('_'), false);
    }),
    { numRuns: 100 },
  );
});

test('a connection that breaks is a failure, with what came before', async () => {
  const { received, ends } = await hear([Buffer.alloc(100_000, 'r')], 0, new Error('cut'));
  const [error] = ends;
  assert.ok(error instanceof EngineError && error.failure === 'unreachable' && error.message === 'cut');
  assert.equal(received.length, 100_000 - limits.engineTailBytes);
});

test('a pause of the reader reaches the source, and a reader that goes away ends it', async () => {
  const { reader, read, asked, begin } = createScene();
  const opening = readFlow(reader, read);
  const answer = begin();
  const flow = await opening;
  const body = toReadable(flow);
  body.read();
  let written = 0;
  while (answer.data(Buffer.alloc(64 * 1024))) assert.ok((written += 64 * 1024) < 1024 * 1024, 'no pause');
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

async function whole(flow: ByteFlow): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of toReadable(flow) as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('a result is held with room around it, and goes on as a flow of all of it once it is too large', () =>
  fc.assert(
    fc.asyncProperty(sizes, fc.nat(300_000), fc.boolean(), async (lengths, bytesMax, fails) => {
      const pieces = lengths.map((size, index) => Buffer.alloc(size, index + 1));
      const { reader, read, begin, asked, failures } = createScene();
      const room = { headroom: 7, tailroom: 9, bytesMax };
      const reading = readBytes(reader, read, room).then(async (result) => {
        if (!('release' in result)) return { isFlow: true, bytes: await whole(result) };
        const { buffer, start, end } = result;
        assert.ok(start === room.headroom && buffer.length >= end + room.tailroom);
        const bytes = Buffer.from(buffer.subarray(start, end));
        result.release();
        return { isFlow: false, bytes };
      });
      const answer = begin();
      give(answer, pieces);
      if (fails) answer.failed(new Error('cut'));
      else answer.end();
      if (fails) {
        await assert.rejects(reading, (error: unknown) => error === failures[0]);
        assert.equal(asked.destroyed, 1);
      } else {
        const all = Buffer.concat(pieces);
        assert.deepEqual(await reading, { isFlow: all.length > bytesMax, bytes: all });
      }
    }),
    { numRuns: 100 },
  ));

test('a refusal is an error with the number of the exception, however it is cut', async () => {
  const { reader, read, begin } = createScene();
  const reading = readFlow(reader, read);
  const answer = begin(404, 'code', '60');
  answer.data(Buffer.from('Code: 60. DB::Exception: Unknown table. (UNKNOWN'));
  answer.data(Buffer.from('_TABLE) (version 26.7)'));
  answer.end();
  await assert.rejects(reading, { engineCode: 60, message: 'UNKNOWN_TABLE Unknown table.' });
});
