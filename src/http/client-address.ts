import { isIP } from 'node:net';

/** Who sent the request, and whether over TLS, as far as is known. `port` is decimal text, `"0"` when nothing tells it. */
export interface ClientAddress {
  readonly ip: string;
  readonly port: string;
  readonly secure: boolean;
}

export type HeaderMap = ReadonlyMap<string, string>;

/** An IPv6 address as its eight groups in RFC 5952: lower case, no leading zeros, the longest run of zeros as `::`. */
function ipv6Text(groups: readonly number[]): string {
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let end = start;
    while (end < 8 && groups[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
  }
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  if (best.start < 0) return hex(groups);
  return `${hex(groups.slice(0, best.start))}::${hex(groups.slice(best.start + best.length))}`;
}

/** The one spelling of an address; IPv4 inside IPv6 (`::ffff:0:0/96`) is IPv4. */
function textOfGroups(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  return isMapped ? [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.') : ipv6Text(groups);
}

/** Text of a binary address of 4 or 16 bytes, any other length as `0.0.0.0`. */
export function addressText(binary: ArrayBuffer): string {
  const bytes = new Uint8Array(binary);
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) return '0.0.0.0';
  const view = new DataView(binary);
  return textOfGroups(Array.from({ length: 8 }, (_, i) => view.getUint16(2 * i)));
}

/** The eight groups of an IPv6 address in any spelling that `isIP` knows, without its zone. */
function ipv6Groups(text: string): number[] {
  const inHex = text
    .replace(/%.*$/, '')
    .replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a: string, b: string, c: string, d: string) =>
      [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
    );
  const groupsOf = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [head = '', tail = ''] = inHex.split('::');
  const [before, after] = [groupsOf(head), groupsOf(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/**
 * An address in its one spelling, however it is written: IPv6 as RFC 5952 has it and without a zone, which means
 * something to another machine only; IPv4 inside IPv6 as IPv4. Undefined for what is not an address.
 */
function canonicalAddress(text: string): string | undefined {
  const version = isIP(text);
  if (version === 0) return undefined;
  return version === 4 ? text : textOfGroups(ipv6Groups(text));
}

/**
 * Who an address in its one spelling stands for, where requests are counted. One IPv6 customer has at least 2^64
 * addresses, so the first half counts: `2001:db8:1:2::/64`.
 */
export function clientOfAddress(ip: string): string {
  return isIP(ip) === 6 ? `${ipv6Text(ipv6Groups(ip).fill(0, 4))}/64` : ip;
}

/** A port in decimal text; what RFC 7239 allows in place of one (`_hidden`) tells none. */
function portText(text: string | undefined): string {
  return text !== undefined && /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? String(Number(text)) : '0';
}

/**
 * The address and port of an element of X-Forwarded-For or of a `for=`: `1.2.3.4`, `1.2.3.4:5`, `::1`, `[::1]`,
 * `[::1]:5`, quoted or not; undefined for anything else, such as a hidden name.
 */
export function parseNode(text: string): { ip: string; port: string } | undefined {
  const bare = text.trim().replace(/^"(.*)"$/, '$1');
  const match = /^\[([^\]]*)\](?::([\w.-]+))?$/.exec(bare) ?? /^([^:]*):([\w.-]+)$/.exec(bare);
  const ip = canonicalAddress(match?.[1] ?? bare);
  return ip === undefined ? undefined : { ip, port: portText(match?.[2]) };
}

/** The element that the outermost trusted proxy wrote: the n-th from the right, or the first of a shorter list. */
function nthFromRight(list: readonly string[], n: number): string | undefined {
  return list[Math.max(0, list.length - n)];
}

function forwardedParameter(element: string, name: string): string | undefined {
  for (const pair of element.split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim().toLowerCase() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}

/**
 * The client behind `trustProxy` proxy hops; 0 believes no header. `X-Forwarded-For` wins over `Forwarded`, because
 * that is what proxies set: one that sets only `Forwarded` must strip the other. An element that holds no address
 * (`unknown`, an obfuscated name) leaves the transport's, as one that does not name the scheme does.
 */
export function clientAddress(
  transport: ClientAddress,
  headers: HeaderMap,
  trustProxy: number,
): ClientAddress {
  if (trustProxy === 0) return transport;
  const xff = headers.get('x-forwarded-for');
  const forwarded = xff === undefined ? headers.get('forwarded') : undefined;
  const element = nthFromRight((xff ?? forwarded ?? '').split(','), trustProxy) ?? '';
  const node = parseNode(xff === undefined ? (forwardedParameter(element, 'for') ?? '') : element);
  const proto =
    nthFromRight((headers.get('x-forwarded-proto') ?? '').split(','), trustProxy) ||
    (forwardedParameter(element, 'proto') ?? '');
  const scheme = proto.trim().replaceAll('"', '').toLowerCase();
  return { ...(node ?? transport), secure: scheme === '' ? transport.secure : scheme === 'https' };
}
