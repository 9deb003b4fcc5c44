import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { splitChunks, type ImportChunk } from '../../src/tools/import-chunks.ts';
import { openRecords } from '../../src/tools/import-records.ts';
import type { ImportSource } from '../../src/tools/import-source.ts';
import { limits } from '../../src/tools/limits.ts';
import { mappingOf } from '../support/mappings.ts';
import { spelledJson, storableJson, storableName } from '../ocsf/arbitrary.ts';
import { all, cutInto } from './import-support.ts';

const cloudtrail = mappingOf('cloudtrail');

/** A text as a source that is read in pieces of these sizes. */
function sourceOf(bytes: Buffer, sizes: readonly number[]): ImportSource {
  return {
    path: undefined,
    compression: 'none',
    fileBytes: bytes.length,
    fileBytesRead: () => 0,
    text: (offset) => cutInto(bytes.subarray(offset), sizes),
  };
}

async function recordsOf(
  bytes: Buffer,
  sizes: readonly number[],
  { offset, firstLine }: { readonly offset: number; readonly firstLine: number } = {
    offset: 0,
    firstLine: 1,
  },
): Promise<ImportChunk[]> {
  const { text, splitter } = await openRecords(sourceOf(bytes, sizes), offset, cloudtrail);
  return all(splitChunks(text, { offset, firstLine }, splitter));
}

const contents = (chunks: readonly ImportChunk[]): string[] =>
  chunks.flatMap(({ lines }) => lines.map((line) => line.toString('utf8').trim()));

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
const record = spelledJson(fc.dictionary(storableName, storableJson, { maxKeys: 3 }));
const records = fc.array(
  record.map(({ text }) => text),
  { maxLength: 8 },
);

test('records are found in a list, in a document with a list, and line by line, however the text is read', async () => {
  const spaces = fc.constantFrom('', ' ', '\n', '\r\n  ');
  await fc.assert(
    fc.asyncProperty(records, spaces, sizes, async (texts, space, cuts) => {
      const list = `${space}[${texts.map((text) => `${space}${text}${space}`).join(',')}]${space}`;
      const document = `{"a":"[\\"Records\\":[","b":{"Records":[0]},"Records"${space}:${list}, "z":[{}]}\n`;
      const lines = texts.map((text) => text.replaceAll(/[\r\n]/g, ' '));
      const expected = lines.map((text) => text.trim());
      for (const text of [list, document, `${lines.join('\n')}${space}`]) {
        const chunks = await recordsOf(Buffer.from(text), cuts);
        assert.deepEqual(contents(chunks), expected, text);
        assert.equal(chunks.at(-1)?.end ?? 0, Buffer.byteLength(text));
      }
    }),
  );
});

test('a list continues from the end of any chunk, and an invalid record is rejected alone', async () => {
  const texts = Array.from({ length: 12_000 }, (_, n) => `{"n":${n},"pad":"${'],['.repeat(n % 40)}"}`);
  texts[5] = '{"n" 5}';
  texts[7] = 'x'.repeat(limits.importLineBytesMax + 10);
  const text = Buffer.from(`{"Records": [\n${texts.join(',\n')}\n]}\n`);
  const whole = await recordsOf(text, [100_000]);
  const kept = texts.filter((_, n) => n !== 7);
  assert.deepEqual(contents(whole), kept);
  assert.deepEqual(
    whole.flatMap(({ tooLong }) => tooLong),
    [8],
  );
  assert.ok(whole.length > 2);
  for (const [index, { end, nextLine }] of whole.entries()) {
    const rest = await recordsOf(text, [70_000], { offset: end, firstLine: nextLine });
    assert.deepEqual(contents(rest), contents(whole.slice(index + 1)));
  }
});
