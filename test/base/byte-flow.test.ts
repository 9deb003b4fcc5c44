import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { fromReadable, linesOf, peekFlow, toReadable } from '../../src/base/bytes/byte-flow.ts';

async function textOf(stream: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

test('a flow whose beginning is exchanged keeps the rest, however it comes in pieces', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 9 }), { maxLength: 9 }),
      fc.integer({ min: 1, max: 30 }),
      async (pieces, bytes) => {
        const text = pieces.join('');
        const flow = fromReadable(Readable.from(pieces.map((piece) => Buffer.from(piece))));
        const { start, continueWith } = await peekFlow(flow, bytes);
        const begun = Buffer.from(start).toString();
        assert.ok(text.startsWith(begun) && begun.length >= Math.min(bytes, text.length));
        const whole = await textOf(toReadable(continueWith(Buffer.from('<>'))));
        assert.equal(whole, `<>${text.slice(begun.length)}`);
      },
    ),
  );
});

test('lines are whole, wherever the pieces end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: fc.constantFrom('a', 'ä', '😀', '\n'), maxLength: 30 }),
      fc.array(fc.nat({ max: 100 }), { maxLength: 9 }),
      async (text, cuts) => {
        const bytes = Buffer.from(text);
        const ends = [...cuts.filter((cut) => cut < bytes.length), bytes.length].sort((a, b) => a - b);
        const pieces = ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end));
        const lines: string[] = [];
        for await (const some of linesOf(fromReadable(Readable.from(pieces)))) lines.push(...some);
        assert.deepEqual(
          lines,
          text
            .replace(/\n$/, '')
            .split('\n')
            .slice(text === '' ? 1 : 0),
        );
      },
    ),
  );
});

test('a flow that fails before enough has come rejects, and later it fails its sink', async () => {
  const failing = (pieces: number) =>
    fromReadable(
      Readable.from(
        (async function* () {
          for (let n = 0; n < pieces; n += 1) yield Buffer.from('x');
          throw new Error('torn');
        })(),
      ),
    );
  await assert.rejects(peekFlow(failing(2), 3), /torn/);
  const { continueWith } = await peekFlow(failing(4), 3);
  await assert.rejects(textOf(toReadable(continueWith(Buffer.from('y')))), /torn/);
});
