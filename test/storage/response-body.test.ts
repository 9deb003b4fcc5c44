import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { limits } from '../../src/base/limits.ts';
import { collect, exceptionInTail, guardBody, shortMessage } from '../../src/storage/response-body.ts';
import { EngineError } from '../../src/storage/storage.ts';

const options = { tag: 'abcdefghijklmnop', stallMs: 1000 };

test('a clean body arrives whole, however it is cut into pieces', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 12 }), async (sizes) => {
      const pieces = sizes.map((size, index) => Buffer.alloc(size, index + 1));
      const source = Readable.from(pieces, { objectMode: false });
      const body = await collect(guardBody(source, options), 2_000_000);
      assert.ok(body.equals(Buffer.concat(pieces)));
    }),
    { numRuns: 50 },
  );
});

test('an exception behind the rows is an error even when the connection ends cleanly, however it is cut', async () => {
  const message = `Code: 241. DB::Exception: ${'memory '.repeat(50)}`;
  const trailer = `\r\n__exception__\r\n${options.tag}\r\n${message}\n${message.length} ${options.tag}\r\n__exception__\r\n`;
  const bytes = Buffer.concat([Buffer.alloc(100_000, 'r'), Buffer.from(trailer)]);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: bytes.length }), { maxLength: 8 }), async (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
      const received: Buffer[] = [];
      await assert.rejects(
        async () => {
          const body = guardBody(Readable.from(pieces, { objectMode: false }), options);
          for await (const piece of body as AsyncIterable<Buffer>) received.push(piece);
        },
        (error) => error instanceof EngineError && error.failure === 'refused' && error.engineCode === 241,
      );
      assert.equal(Buffer.concat(received).includes('_'), false);
    }),
    { numRuns: 50 },
  );
});

test('words that look like an exception are rows when the tag is another', () => {
  const text = Buffer.from('\r\n__exception__\r\nponmlkjihgfedcba\r\nCode: 1. DB::Exception: x\n');
  assert.equal(exceptionInTail(text, options.tag), undefined);
  assert.equal(exceptionInTail(text, undefined), undefined);
  assert.equal(exceptionInTail(text, ''), undefined);
});

test('the source is paused for a slow reader and destroyed with the body', async () => {
  const source = new PassThrough();
  const body = guardBody(source, options);
  body.on('error', () => undefined);
  for (let written = 0; written < 64; written += 1) source.write(Buffer.alloc(64 * 1024));
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(body.readableLength <= 256 * 1024 + 64 * 1024, `${body.readableLength} bytes are buffered`);
  body.destroy();
  assert.equal(source.destroyed, true);
});

test('a result beyond its bound is given up, and words of an engine are one bounded line', async () => {
  const source = Readable.from([Buffer.alloc(1000), Buffer.alloc(1000)], { objectMode: false });
  await assert.rejects(collect(guardBody(source, options), 1500), EngineError);
  assert.equal(shortMessage('  a\n\tb '), 'a b');
  assert.equal(shortMessage('x'.repeat(5000)).length, limits.engineErrorCharactersMax + 1);
});
