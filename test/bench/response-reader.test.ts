import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createResponseReader } from '../../bench/load/response-reader.ts';

/** A response as a server may frame it. */
function wire(status: number, body: string, pieces: readonly number[] | undefined): string {
  const head = `HTTP/1.1 ${status} Fine\r\nX-Other: 1\r\n`;
  if (pieces === undefined) return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  let chunks = '';
  let rest = body;
  for (const piece of [...pieces, body.length]) {
    const taken = rest.slice(0, piece);
    rest = rest.slice(piece);
    if (taken !== '') chunks += `${taken.length.toString(16)}\r\n${taken}\r\n`;
  }
  return `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
}

const response = fc.record({
  status: fc.integer({ min: 200, max: 599 }),
  body: fc.string({ unit: fc.constantFrom('a', '\r', '\n', '0'), maxLength: 300 }),
  pieces: fc.option(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 8 }), { nil: undefined }),
});

test('responses are found however the bytes arrive', () => {
  fc.assert(
    fc.property(
      fc.array(response, { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1 }),
      (responses, cuts) => {
        const bytes = Buffer.from(responses.map((one) => wire(one.status, one.body, one.pieces)).join(''));
        const found: [number, number][] = [];
        const reader = createResponseReader((status, bodyBytes) => found.push([status, bodyBytes]));
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const length = cuts[turn % cuts.length] ?? 1;
          reader.take(bytes.subarray(at, at + length));
          at += length;
        }
        assert.deepEqual(
          found,
          responses.map(({ status, body }) => [status, body.length]),
        );
      },
    ),
  );
});
