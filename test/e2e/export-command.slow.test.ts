import { strict as assert } from 'node:assert';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { decompressZstd, loadZstd } from '../../src/base/bytes/zstd.ts';
import { call, eventually } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, type SharedServer, sourceEvent, type Tenant } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';
import { finished } from './export-support.ts';

/** `auditlog export` (contract: Command line), in its own process only if the process itself is tested. */

const loggedTime = /"logged_time":\d+/g;
const plain = (text: string) => text.replaceAll(loggedTime, '');

describe('export to a file', () => {
  let out: string;
  let server: SharedServer;
  let tenant: Tenant;
  const range = { startTime: '2024-01-01T00:00:00Z', endTime: '2024-12-31T00:00:00Z' };
  const ranged = ['--start-time', range.startTime, '--end-time', range.endTime];
  before(async () => {
    [out, server] = await Promise.all([temporaryDirectory(), sharedServer()]);
    tenant = await createTenant(server, 'filed');
    await tenant.record(
      Array.from({ length: 500 }, (_, n) =>
        sourceEvent({
          timestamp: `2024-05-${String((n % 28) + 1).padStart(2, '0')}T00:00:00.${String(n).padStart(6, '0')}Z`,
          actor: { email: n % 2 === 0 ? 'even@acme.example' : 'odd@acme.example', name: '=cmd' },
          target: n % 3 === 0 ? 'Отчёт, "май"\n.pdf' : { id: 'x' },
          remote: { ip: '192.0.2.1', port: n },
          extra: n % 5 === 0 ? undefined : { n, text: 'a\nb' },
        }),
      ),
    );
    await tenant.settled(500, range);
  });
  after(() => removeDirectory(out));

  const endpoint = async (query: Record<string, string>) => {
    const url = `${server.url}/api/v1/audit/export?${new URLSearchParams(query).toString()}`;
    const answer = await call(url, { headers: { 'x-api-key': tenant.key } });
    assert.equal(answer.status, 200);
    return answer.text;
  };
  const run = (...args: string[]) => server.cliHere(['export', '--org', 'filed', ...args]);

  test('each format, plain and compressed, has the content of the endpoint', async () => {
    await loadZstd();
    const endings = { ndjson: ['', '.gz', '.zst'], json: ['', '.zst'], csv: ['.gz'] };
    for (const [format, ofFormat] of Object.entries(endings)) {
      const expected = plain(await endpoint({ format, ...range, actor: 'EVEN@acme.example' }));
      for (const ending of ofFormat) {
        const file = join(out, `even.${format}${ending}`);
        const { code, stdout, stderr } = await run('-o', file, ...ranged, '--actor', 'EVEN@acme.example');
        assert.deepEqual([code, stdout], [0, ''], stderr);
        const { bytes, manifest } = finished(file);
        const text = {
          '': () => bytes,
          '.gz': () => gunzipSync(bytes),
          '.zst': () => decompressZstd(bytes, 1e8),
        };
        assert.equal(plain(Buffer.from(text[ending as keyof typeof text]()).toString()), expected);
        assert.equal(manifest.rows, 250);
        assert.deepEqual(manifest.filters, { ...range, actor: 'EVEN@acme.example' });
        assert.ok(stderr.includes('250 events') && stderr.includes(manifest.sha256), stderr);
        assert.equal(stderr.includes('\u001b'), false, 'no bar where there is no terminal');
      }
    }
  });

  test('standard output gets the same; nothing found is an empty whole', async () => {
    const { code, stdout } = await server.cli(['export', '--org', 'filed', '--format', 'csv', ...ranged]);
    assert.equal(code, 0);
    const lines = (text: string) => text.split('\n').filter((line) => line !== '');
    assert.deepEqual(lines(stdout), lines(await endpoint({ format: 'csv', ...range })));
    const marked = await server.cli(['export', '--org', 'filed', '--format', 'csv', '--bom', ...ranged]);
    assert.equal(marked.stdout, `\uFEFF${stdout}`);
    assert.equal((await run('-o', join(out, 'marked.csv'), '--bom', ...ranged)).code, 0);
    assert.equal(finished(join(out, 'marked.csv')).bytes.toString(), `${marked.stdout}\n`);
    assert.equal((await run('-o', join(out, 'bad.ndjson'), '--bom')).code, 2);
    const file = join(out, 'none.json');
    assert.equal((await run('-o', file, '--actor', 'nobody')).code, 0);
    assert.equal(finished(file).bytes.toString(), '[]\n');
    assert.equal((await run('-o', join(out, 'none.csv'), '--actor', 'nobody')).code, 0);
    assert.match(finished(join(out, 'none.csv')).bytes.toString(), /^time,time_iso,[^\n]*\r\n$/);
  });

  test('wrong usage ends with 2, what fails with 1, and neither leaves a file', async () => {
    for (const args of [
      ['--format', 'xml'],
      ['--start-time', 'yesterday'],
      ['--flow-id', 'none'],
      ['--activity', 'abc'],
      ['--ip', '10.0.0.0/33'],
      ['--severity-in', 'High,Huge'],
      ['--activity.not', '1,,x'],
      ['-o', join(out, 'bad.parquet.gz')],
      ['--limit', '3'],
    ]) {
      assert.equal((await run(...args)).code, 2, args.join(' '));
    }
    assert.equal((await server.cliHere(['export'])).code, 2);
    const unknown = await server.cliHere(['export', '--org', 'nobody', '-o', join(out, 'bad.csv')]);
    assert.deepEqual([unknown.code, unknown.stderr], [1, 'auditlog: no organization "nobody"']);
    assert.equal((await run('-o', join(out, 'no', 'such', 'place.csv'))).code, 1);
    assert.deepEqual(
      (await readdir(out)).filter((name) => name.includes('bad')),
      [],
    );
  });

  test('an export is in the self-audit of the organization', async () => {
    const since = new Date().toISOString();
    assert.equal((await run('--actor', 'odd@acme.example', '-o', join(out, 'odd.csv'))).code, 0);
    const event = await eventually('the event of the export', async () => {
      const { data } = await tenant.page({ startTime: since });
      return data.find(({ activity_id: code }) => code === 2030);
    });
    assert.deepEqual(event.extra_map, { format: 'csv', filters: { actor: 'odd@acme.example' }, events: 250 });
  });
});
