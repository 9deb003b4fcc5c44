import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { linesOf } from '../support/access-log.ts';
import { call, problemOf } from '../support/http.ts';
import { startServer } from '../support/server.ts';

test('TRUST_PROXY=n takes the address that the outermost trusted proxy saw, in the log and for the metrics', async () => {
  const cases: readonly [
    hops: string,
    headers: Record<string, string>,
    ip: string,
    port: string | undefined,
  ][] = [
    ['1', { 'x-forwarded-for': '203.0.113.7' }, '203.0.113.7', '0'],
    ['1', { 'x-forwarded-for': '203.0.113.7:4711' }, '203.0.113.7', '4711'],
    ['1', { 'x-forwarded-for': '198.51.100.1, 203.0.113.9:99' }, '203.0.113.9', '99'],
    ['1', { 'x-forwarded-for': '[2001:db8::1]:4711' }, '2001:db8::1', '4711'],
    ['1', { 'x-forwarded-for': '2001:db8::1' }, '2001:db8::1', '0'],
    ['1', { forwarded: 'for="[2001:db8::2]:4712";proto=https' }, '2001:db8::2', '4712'],
    ['1', { forwarded: 'for="[2001:0DB8:0::2]:_hidden"' }, '2001:db8::2', '0'],
    ['1', { 'x-forwarded-for': '[::FFFF:cb00:7107]:4713' }, '203.0.113.7', '4713'],
    ['1', { forwarded: 'for=198.51.100.1, For="203.0.113.9:98"' }, '203.0.113.9', '98'],
    ['1', {}, '127.0.0.1', undefined],
    ['2', { 'x-forwarded-for': '192.0.2.1, 198.51.100.1:77, 203.0.113.9' }, '198.51.100.1', '77'],
  ];
  for (const hops of ['1', '2']) {
    const METRICS_PUBLIC = hops === '2' ? '1' : '0';
    const proxied = await startServer({ env: { TRUST_PROXY: hops, METRICS_PUBLIC } });
    try {
      for (const [, headers, ip, port] of cases.filter(([n]) => n === hops)) {
        const lines = await linesOf(proxied, 1, () => call(`${proxied.url}/healthz`, { headers }));
        const what = JSON.stringify(headers);
        assert.equal(lines[0]?.ip, ip, what);
        if (port !== undefined) assert.equal(lines[0]?.port, port, what);
      }
      const metrics = (headers: Record<string, string>) => call(`${proxied.url}/metrics`, { headers });
      // Behind a proxy every request comes from loopback, also one that the proxy has told nothing about.
      for (const headers of [{}, { 'x-forwarded-for': '127.0.0.1' }, { 'x-forwarded-for': '203.0.113.7' }]) {
        const answer = await metrics(headers);
        if (METRICS_PUBLIC === '1') assert.equal(answer.status, 200);
        else problemOf(answer, 404);
      }
    } finally {
      await proxied.stop();
    }
  }
});
