import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { splitChunks, type ImportChunk } from '../../src/tools/import-chunks.ts';
import { limits } from '../../src/tools/limits.ts';
import { all, cutInto } from './import-support.ts';

const chunks = (bytes: Buffer, sizes: readonly number[], offset = 0, firstLine = 1): Promise<ImportChunk[]> =>
  all(splitChunks(cutInto(bytes.subarray(offset), sizes), { offset, firstLine }));

const shown = (found: readonly ImportChunk[]) =>
  found.map(({ lines, ...rest }) => ({ ...rest, lines: lines.map((line) => line.toString('latin1')) }));

test('lines and their numbers are those of the text, however it is read', async () => {
  const line = fc.oneof(
    fc.string({ maxLength: 20 }).map((text) => text.replaceAll('\n', '')),
    fc.constantFrom('', ' \t\r', '{}', '\r', 'é'),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 40 }),
      fc.boolean(),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
      async (lines, endsInNewline, sizes) => {
        const text = Buffer.from(lines.join('\n') + (endsInNewline ? '\n' : ''));
        const found = await chunks(text, sizes);
        const expected = text
          .toString()
          .split('\n')
          .map((content, index) => [index + 1, content] as const)
          .filter(([, content]) => !/^[ \t\r]*$/.test(content));
        assert.deepEqual(
          found.flatMap((chunk) => chunk.lines.map((one, n) => [chunk.numbers[n], one.toString()])),
          expected,
        );
        assert.equal(found.at(-1)?.end ?? 0, text.length);
      },
    ),
  );
});

test('the text decides the ends of chunks: the same for every way of reading, and from every chunk on', async () => {
  const lines = Array.from({ length: 30_000 }, (_, n) => `{"n":${n},"pad":"${'x'.repeat(n % 97)}"}`);
  const text = Buffer.from(lines.join('\n'));
  const whole = await chunks(text, [text.length]);
  assert.ok(whole.length > 2);
  for (const sizes of [[65_536], [100_000, 3, 777]]) {
    assert.deepEqual(shown(await chunks(text, sizes)), shown(whole));
  }
  const second = whole[1] as ImportChunk;
  const resumed = await chunks(text, [50_000], second.offset, second.numbers[0] ?? 0);
  assert.deepEqual(shown(resumed), shown(whole.slice(1)));
});

test('a line that is too long is rejected alone, and not buffered', async () => {
  const long = 'x'.repeat(limits.importLineBytesMax + 1);
  const text = Buffer.from(`{"a":1}\n${long}\n{"b":2}\n${long}`);
  for (const sizes of [[text.length], [100_000]]) {
    const found = await chunks(text, sizes);
    assert.deepEqual(
      found.flatMap(({ lines }) => lines.map(String)),
      ['{"a":1}', '{"b":2}'],
    );
    assert.deepEqual(
      found.flatMap(({ tooLong }) => tooLong),
      [2, 4],
    );
    assert.equal(found.at(-1)?.end, text.length);
  }
});

test('the mark before UTF-8 is no part of the first line', async () => {
  const [chunk] = await chunks(Buffer.from('\ufeff{}\n\ufeff{}\n'), [5]);
  assert.deepEqual(chunk?.lines.map(String), ['{}', '\ufeff{}']);
});
