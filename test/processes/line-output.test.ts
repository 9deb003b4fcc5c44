import { strict as assert } from 'node:assert';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { createLogger } from '../../src/base/observability/log.ts';
import { LineOutput } from '../../src/processes/line-output.ts';
import { eventually } from '../support/http.ts';

test('lines of several processes come out whole, however they were cut, and half a line of a dead one does not', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'auditlog-lines-'));
  const path = join(directory, 'access.log');
  const output = new LineOutput(path, createLogger('silent'));
  const sources = ['a', 'b', 'c'].map((name) => ({ name, stream: new PassThrough() }));
  for (const { stream } of sources) output.take(stream);
  const wanted = new Set<string>();
  const texts = sources.map(({ name, stream }) => {
    const lines = Array.from({ length: 50 }, (_, n) => `${name}${n} ${'é'.repeat(n * 7)}`);
    for (const line of lines) wanted.add(line);
    return { stream, bytes: Buffer.from(`${lines.join('\n')}\nhalf a line`) };
  });
  // Pieces end anywhere, in the middle of a character too.
  for (let at = 0; texts.some(({ bytes }) => at < bytes.length); at += 97)
    for (const { stream, bytes } of texts) if (at < bytes.length) stream.write(bytes.subarray(at, at + 97));
  for (const { stream } of texts) stream.end();
  try {
    await eventually('all lines', async () => {
      const text = await readFile(path, 'utf8').catch(() => '');
      return text.split('\n').length > wanted.size ? true : undefined;
    });
    await output.close(1000);
    const lines = (await readFile(path, 'utf8')).split('\n');
    assert.equal(lines.pop(), '');
    assert.equal(lines.length, wanted.size);
    assert.deepEqual(new Set(lines), wanted);
  } finally {
    await rm(directory, { recursive: true });
  }
});
