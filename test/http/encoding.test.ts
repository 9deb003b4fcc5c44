import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { limits } from '../../src/base/limits.ts';
import { isCompressible, negotiateEncoding } from '../../src/http/encoding.ts';

test('the encoding is the one the client likes best', () => {
  const pick = (header: string | undefined) => negotiateEncoding(header, 10_000);
  assert.equal(pick(undefined), undefined);
  assert.equal(pick(''), undefined);
  assert.equal(pick('identity'), undefined);
  assert.equal(pick('deflate'), undefined);
  assert.equal(pick('gzip'), 'gzip');
  assert.equal(pick('x-gzip'), 'gzip');
  assert.equal(pick('GZIP; Q=0.3 , br;q=0.2'), 'gzip');
  assert.equal(pick('gzip;q=0, br;q=0'), undefined);
  assert.equal(pick('*;q=0.5, br;q=0, zstd;q=0'), 'gzip');
  assert.equal(pick('gzip;q=0.5, identity'), undefined);
  assert.equal(pick('identity;q=0.5, gzip'), 'gzip');
  assert.equal(pick('identity;q=0'), undefined);
  assert.equal(pick('zstd'), 'zstd');
  assert.equal(pick('gzip;q=nonsense'), undefined);
  assert.ok(['br', 'zstd'].includes(pick('gzip, deflate, br, zstd') ?? ''));
});

test('zstd on streams and on very large bodies only where Node has it', () => {
  const nodeHasZstd = 'zstdCompress' in process.getBuiltinModule('node:zlib');
  assert.equal(negotiateEncoding('zstd', undefined), nodeHasZstd ? 'zstd' : undefined);
  assert.equal(
    negotiateEncoding('zstd, gzip;q=0.1', limits.wasmCompressBytesMax + 1),
    nodeHasZstd ? 'zstd' : 'gzip',
  );
});

test('no header makes it fail, and only what is named or starred is chosen', () => {
  fc.assert(
    fc.property(fc.string(), (header) => {
      const chosen = negotiateEncoding(header, 5000);
      assert.ok(chosen === undefined || header.toLowerCase().includes(chosen) || header.includes('*'));
    }),
  );
});

test('texts are worth encoding, other types are not', () => {
  for (const type of [
    'application/json',
    'application/problem+json',
    'application/x-ndjson',
    'text/csv; charset=utf-8',
    'text/html',
  ])
    assert.ok(isCompressible(type), type);
  for (const type of ['image/png', 'application/octet-stream', 'application/zstd', 'font/woff2'])
    assert.ok(!isCompressible(type), type);
});
