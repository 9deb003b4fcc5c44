import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { isWanted, readOptions } from '../../bench/options.ts';

test('a case is wanted by its name or that of its group, and everything where nothing is named', () => {
  assert.ok(isWanted([], 'hostile.deep'));
  assert.ok(isWanted(['hostile'], 'hostile.deep'));
  assert.ok(isWanted(['hostile.deep'], 'hostile'));
  assert.ok(isWanted(['feed.page', 'feed.follow'], 'feed.follow-gzip'));
  assert.ok(!isWanted(['feed.page'], 'feed.follow'));
});

test('the read cases take as many rows as are asked for, and a directory to keep them in', () => {
  const { readRows, data } = readOptions(['--only', 'read', '--rows', '100000000', '--data', '/data']);
  assert.deepEqual([readRows, data], [100_000_000, '/data']);
  assert.throws(() => readOptions(['--data', '/data', '--url', 'http://127.0.0.1:8123']), /--data/);
  for (const bad of ['0', '-1', '1e8', 'many']) assert.throws(() => readOptions([`--rows=${bad}`]), /--rows/);
});
