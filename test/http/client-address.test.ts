import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { addressText, clientAddress, parseNode } from '../../src/http/client-address.ts';

const transport = { ip: '10.0.0.1', port: '5000' };
const seen = (headers: Record<string, string>, hops: number) =>
  clientAddress(transport, new Map(Object.entries(headers)), hops);

function groupsOf(text: string): number[] {
  const [left = '', right] = text.split('::');
  const numbers = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  if (right === undefined) return numbers(left);
  const tail = numbers(right);
  return [
    ...numbers(left),
    ...Array.from({ length: 8 - numbers(left).length - tail.length }, () => 0),
    ...tail,
  ];
}

test('binary addresses become the usual text', () => {
  assert.equal(addressText(Uint8Array.of(127, 0, 0, 1).buffer), '127.0.0.1');
  const mapped = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4);
  assert.equal(addressText(mapped.buffer), '1.2.3.4');
  assert.equal(addressText(new Uint8Array(16).buffer), '::');
  assert.equal(
    addressText(Uint8Array.of(0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1).buffer),
    '2001:db8:0:1::1',
  );
  assert.equal(addressText(new ArrayBuffer(0)), '0.0.0.0');
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(0, 0, 1, 0x2001, 0xffff), { minLength: 8, maxLength: 8 }),
      (groups) => {
        const text = addressText(
          Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 255])).buffer,
        );
        if (text.includes('.')) return;
        assert.equal(isIP(text), 6);
        assert.deepEqual(groupsOf(text), groups);
      },
    ),
  );
});

test('addresses of proxies come with and without port, brackets and quotes', () => {
  assert.deepEqual(parseNode(' 1.2.3.4 '), { ip: '1.2.3.4', port: '0' });
  assert.deepEqual(parseNode('1.2.3.4:80'), { ip: '1.2.3.4', port: '80' });
  assert.deepEqual(parseNode('"[2001:db8::1]:4711"'), { ip: '2001:db8::1', port: '4711' });
  assert.deepEqual(parseNode('2001:db8::1'), { ip: '2001:db8::1', port: '0' });
  assert.deepEqual(parseNode('::ffff:1.2.3.4'), { ip: '1.2.3.4', port: '0' });
  assert.deepEqual(parseNode('1.2.3.4:99999'), { ip: '1.2.3.4', port: '0' });
  for (const text of ['', 'unknown', '_hidden', '1.2.3', '[1.2.3.4', 'evil"}\n'])
    assert.equal(parseNode(text), undefined);
  fc.assert(fc.property(fc.string(), (text) => isIP(parseNode(text)?.ip ?? '::') !== 0));
});

test('forwarding headers are believed as far as the configured hops', () => {
  const xff = { 'x-forwarded-for': '6.6.6.6, 2.2.2.2:22, 3.3.3.3' };
  assert.deepEqual(seen(xff, 0), { ...transport, secure: false });
  assert.equal(seen(xff, 1).ip, '3.3.3.3');
  assert.deepEqual(seen(xff, 2), { ip: '2.2.2.2', port: '22', secure: false });
  assert.equal(seen(xff, 9).ip, '6.6.6.6');
  assert.equal(seen({}, 1).ip, transport.ip);
  assert.equal(seen({ 'x-forwarded-for': 'unknown' }, 1).ip, transport.ip);
  assert.equal(seen({ ...xff, 'x-forwarded-proto': 'https' }, 1).secure, true);
  assert.equal(seen({ 'x-forwarded-proto': 'https' }, 0).secure, false);
  assert.equal(seen({ 'x-forwarded-proto': 'https, http' }, 1).secure, false);
});

test('Forwarded counts where X-Forwarded-For is absent', () => {
  const forwarded = 'for=9.9.9.9, For="[2001:db8::2]:17";proto=https;by=1.1.1.1';
  assert.deepEqual(seen({ forwarded }, 1), { ip: '2001:db8::2', port: '17', secure: true });
  assert.deepEqual(seen({ forwarded }, 2), { ip: '9.9.9.9', port: '0', secure: false });
  assert.equal(seen({ forwarded, 'x-forwarded-for': '4.4.4.4' }, 1).ip, '4.4.4.4');
});
