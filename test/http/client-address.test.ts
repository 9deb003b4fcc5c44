import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { addressText, clientAddress, clientOfAddress, parseNode } from '../../src/http/client-address.ts';

const transport = { ip: '10.0.0.1', port: '5000', secure: false };
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

/** Every spelling of an IPv6 address: case, leading zeros, `::` for any run of zeros, a dotted end, a zone. */
const spelling = (groups: readonly number[]) =>
  fc
    .record({
      upper: fc.boolean(),
      width: fc.integer({ min: 1, max: 4 }),
      dotted: fc.boolean(),
      cut: fc.tuple(fc.nat(7), fc.integer({ min: 1, max: 8 })),
      zone: fc.constantFrom('', '%eth0', '%1', '%en-0.1'),
    })
    .map(({ upper, width, dotted, cut: [start, length], zone }) => {
      const words = groups.map((group) => group.toString(16).padStart(width, '0'));
      if (dotted) {
        const [high = 0, low = 0] = groups.slice(6);
        words.splice(6, 2, [high >> 8, high & 255, low >> 8, low & 255].join('.'));
      }
      const end = Math.min(start + length, dotted ? 6 : 8);
      const zeros = end > start && groups.slice(start, end).every((group) => group === 0);
      const text = zeros
        ? `${words.slice(0, start).join(':')}::${words.slice(end).join(':')}`
        : words.join(':');
      return (upper ? text.toUpperCase() : text) + zone;
    });

const someGroups = fc.oneof(
  fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 }),
  fc.tuple(fc.nat(0xffff), fc.nat(0xffff)).map((last) => [0, 0, 0, 0, 0, 0xffff, ...last]),
);

test('an address has one text for every spelling of a proxy', () => {
  fc.assert(
    fc.property(
      someGroups.chain((groups) => fc.tuple(fc.constant(groups), spelling(groups))),
      fc.constantFrom(
        { around: (text: string) => text, port: '0' },
        { around: (text: string) => `[${text}]`, port: '0' },
        { around: (text: string) => `"[${text}]:4711"`, port: '4711' },
        { around: (text: string) => ` [${text}]:_hidden `, port: '0' },
      ),
      ([groups, text], { around, port }) => {
        const own = addressText(Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 255])).buffer);
        const sent = around(text);
        assert.deepEqual(parseNode(sent), { ip: own, port }, sent);
        assert.equal(seen({ 'x-forwarded-for': `6.6.6.6, ${sent}` }, 1).ip, own);
        assert.equal(seen({ forwarded: `for=6.6.6.6, proto=https;For=${sent}` }, 1).ip, own);
      },
    ),
    { numRuns: 2000 },
  );
  for (const text of ['::ffff:102:304', '::FFFF:1.2.3.4', '0:0:0:0:0:ffff:102:304', '::ffff:1.2.3.4%eth0'])
    assert.equal(parseNode(text)?.ip, '1.2.3.4', text);
});

test('an IPv4 address counts for itself and an IPv6 address for its network, written in one way', () => {
  assert.equal(clientOfAddress('192.0.2.1'), '192.0.2.1');
  for (const same of ['2001:db8:1:2::1', '2001:db8:1:2:ffff::', '2001:db8:1:2:3:4:5:6'])
    assert.equal(clientOfAddress(same), '2001:db8:1:2::/64');
  assert.equal(clientOfAddress('::1'), '::/64');
  assert.equal(clientOfAddress('fe80::1:2:3:4'), 'fe80::/64');
  assert.equal(clientOfAddress('2001:db8::1'), '2001:db8::/64');
  fc.assert(
    fc.property(
      someGroups.chain((groups) =>
        fc.tuple(
          fc.constant(groups),
          spelling(groups),
          fc.array(fc.nat(0xffff), { minLength: 4, maxLength: 4 }),
        ),
      ),
      ([groups, text, host]) => {
        const ip = parseNode(text)?.ip ?? '';
        if (isIP(ip) === 4) return assert.equal(clientOfAddress(ip), ip);
        const neighbour = [...groups.slice(0, 4), ...host].map((group) => group.toString(16)).join(':');
        const other = parseNode(neighbour)?.ip ?? '';
        if (isIP(other) === 6) assert.equal(clientOfAddress(ip), clientOfAddress(other));
        const next = [(groups[0] ?? 0) ^ 1, ...groups.slice(1)].map((group) => group.toString(16)).join(':');
        assert.notEqual(clientOfAddress(ip), clientOfAddress(parseNode(next)?.ip ?? ''));
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
  assert.deepEqual(parseNode('1.2.3.4:_hidden'), { ip: '1.2.3.4', port: '0' });
  for (const text of [
    '',
    'unknown',
    '_hidden',
    '1.2.3',
    '[1.2.3.4',
    'evil"}\n',
    '01.2.3.4',
    '::1::',
    '%eth0',
  ])
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
