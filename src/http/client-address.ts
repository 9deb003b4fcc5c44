import { isIP } from 'node:net';

/** `port` is decimal text, `"0"` if unknown. */
export interface ClientAddress {
  readonly ip: string;
  readonly port: string;
  readonly secure: boolean;
}

export type HeaderMap = ReadonlyMap<string, string>;

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

/** IPv4 inside IPv6 (`::ffff:0:0/96`) becomes IPv4. */
function textOfGroups(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  return isMapped ? [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.') : ipv6Text(groups);
}

export function addressText(binary: ArrayBuffer): string {
  const bytes = new Uint8Array(binary);
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) return '0.0.0.0';
  const view = new DataView(binary);
  return textOfGroups(Array.from({ length: 8 }, (_, i) => view.getUint16(2 * i)));
}

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

/** RFC 5952 without zone, IPv4 inside IPv6 as IPv4. Undefined if the text is no address. */
function canonicalAddress(text: string): string | undefined {
  const version = isIP(text);
  if (version === 0) return undefined;
  return version === 4 ? text : textOfGroups(ipv6Groups(text));
}

/** One IPv6 customer has at least 2^64 addresses, so only the first half counts: `2001:db8:1:2::/64`. */
export function clientOfAddress(ip: string): string {
  return isIP(ip) === 6 ? `${ipv6Text(ipv6Groups(ip).fill(0, 4))}/64` : ip;
}

function portText(text: string | undefined): string {
  return text !== undefined && /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? String(Number(text)) : '0';
}

/** Parses `1.2.3.4`, `1.2.3.4:5`, `::1`, `[::1]`, `[::1]:5`, quoted or not. */
export function parseNode(text: string): { ip: string; port: string } | undefined {
  const bare = text.trim().replace(/^"(.*)"$/, '$1');
  const match = /^\[([^\]]*)\](?::([\w.-]+))?$/.exec(bare) ?? /^([^:]*):([\w.-]+)$/.exec(bare);
  const ip = canonicalAddress(match?.[1] ?? bare);
  return ip === undefined ? undefined : { ip, port: portText(match?.[2]) };
}

/** The outermost trusted proxy's element: the n-th from the right, or the first of a shorter list. */
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
 * `trustProxy` hops; 0 trusts no header. `X-Forwarded-For` wins over `Forwarded`: a proxy that sets only `Forwarded` must strip
 * the other. Without an address in the element, the transport's counts.
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
