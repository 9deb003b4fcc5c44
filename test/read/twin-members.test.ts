import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { buffer, text as readText } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { toReadable } from '../../src/base/bytes/byte-flow.ts';
import { createExportReader } from '../../src/read/export.ts';
import { streamParquet } from '../../src/read/export-parquet.ts';
import { rowsOfParquet } from '../support/parquet.ts';
import { rounds } from '../support/rounds.ts';
import { sharedEngine } from '../support/shared.ts';
import { createRecorder } from './support.ts';

const never = new AbortController().signal;
const start = 1_790_000_000_000_000;

/** JSON text of an object whose members may be repeated or escaped. */
const object = (...members: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.array(fc.oneof(...members), { maxLength: 5 }).map((some) => `{${some.join(',')}}`);
const member = (name: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(name, `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`), value)
    .map(([key, one]) => `"${key}":${one}`);
const name = fc.constantFrom('"a.txt"', '"B.txt"', '"ΟΔΟΣ"', '""', 'null');
const target = fc.oneof(name, object(member('name', name), member('id', name)));
const message = fc
  .tuple(
    object(
      member('target', target),
      member('sender', object(member('file', name))),
      member('actor', object(member('name', name), member('email', fc.constant('"x@x.test"')))),
      member(
        'extra',
        object(
          member('fileName', name),
          member('n', fc.constantFrom('123456789012345678901234', '-9.5e+20')),
        ),
      ),
    ),
  )
  .map(([text]) => text.replace('{', `{"action":1,"timestamp":${start}${text === '{}' ? '' : ','}`));
const event = fc
  .array(message, { minLength: 1, maxLength: 2 })
  .map((some) => `{${some.map((one) => `"message":${one}`).join(',')}}`);

interface Source {
  readonly message: {
    readonly target?: string | null | { readonly name?: string | null };
    readonly sender?: { readonly file?: string | null };
    readonly actor?: { readonly name?: string | null };
  };
}

test('of repeated members the last one counts, in CSV and Parquet as in filters and pages', async () => {
  const { storage } = await sharedEngine();
  const organization = randomUUID();
  const texts = fc.sample(event, { numRuns: rounds(150, 2_000), seed: 92 });
  const kept = await createRecorder(storage)(organization, texts);
  const expected = kept.map(({ source }) => {
    const { message: one } = JSON.parse(source) as Source;
    const of = one.target;
    return {
      target_name: (typeof of === 'object' && of !== null ? of.name : of) ?? '',
      file_name: one.sender?.file ?? '',
      actor_name: one.actor?.name ?? '',
    };
  });
  const filter = {};
  const reader = createExportReader(storage, { head: '{', tail: '}}' });
  const { stream } = await reader(organization, { format: 'csv', filter }, 0, never);
  const ofCsv = parse<Record<string, string>>(await readText(toReadable(stream)), { columns: true });
  const request = { filter, rows: texts.length };
  const ofParquet = await rowsOfParquet(
    await buffer(await streamParquet(storage, organization, request, never)),
  );
  // All have one time, so the last recorded comes first.
  const rows = expected.toReversed();
  for (const [at, { target_name, file_name, actor_name }] of rows.entries()) {
    const told = { target_name, file_name, actor_name };
    const cells = (row: Record<string, unknown> | undefined) => ({
      target_name: row?.['target_name'] ?? '',
      file_name: row?.['file_name'] ?? '',
      actor_name: row?.['actor_name'] ?? '',
    });
    const { source } = kept[kept.length - 1 - at] ?? {};
    assert.deepEqual(cells(ofCsv[at]), told, source);
    assert.deepEqual(cells(ofParquet[at]), told, source);
  }
});
