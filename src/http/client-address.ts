import { isIP } from 'node:net';

/** Who sent the request, and whether over TLS. `port` is decimal text, `"0"` when nothing tells it. */
export interface ClientAddress {
  readonly ip: string;
  readonly port: string;
  readonly secure: boolean;
}

export type HeaderMap = ReadonlyMap<string, string>;

function ipv6Text(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0));
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let end = start;
    while (end < 8 && groups[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
  }
  const hex = (part: number[]): string => part.map((group) => group.toString(16)).join(':');
  if (best.start < 0) return hex(groups);
  return `${hex(groups.slice(0, best.start))}::${hex(groups.slice(best.start + best.length))}`;
}

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/** Text of a binary address of 4 or 16 bytes; IPv4 inside IPv6 is shown as IPv4, any other length as `0.0.0.0`. */
export function addressText(binary: ArrayBuffer): string {
  const bytes = new Uint8Array(binary);
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) return '0.0.0.0';
  if (mappedPrefix.every((byte, i) => bytes[i] === byte)) return bytes.subarray(12).join('.');
  return ipv6Text(bytes);
}

/** `1.2.3.4`, `1.2.3.4:5`, `::1`, `[::1]`, `[::1]:5`, quoted or not; undefined for anything else. */
export function parseNode(text: string): { ip: string; port: string } | undefined {
  const bare = text.trim().replace(/^"(.*)"$/, '$1');
  const match = /^\[([^\]]*)\](?::(\d{1,5}))?$/.exec(bare) ?? /^([^:]*)(?::(\d{1,5}))?$/.exec(bare);
  const host = match?.[1] ?? bare;
  if (isIP(host) === 0) return undefined;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(host);
  const port = match?.[2];
  return {
    ip: mapped?.[1] ?? host,
    port: port !== undefined && Number(port) <= 65_535 ? String(Number(port)) : '0',
  };
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
 * (`unknown`, an obfuscated name) leaves the transport's.
 */
export function clientAddress(
  transport: { ip: string; port: string },
  headers: HeaderMap,
  trustProxy: number,
): ClientAddress {
  if (trustProxy === 0) return { ...transport, secure: false };
  const xff = headers.get('x-forwarded-for');
  const forwarded = xff === undefined ? headers.get('forwarded') : undefined;
  const element = nthFromRight((xff ?? forwarded ?? '').split(','), trustProxy) ?? '';
  const node = parseNode(xff === undefined ? (forwardedParameter(element, 'for') ?? '') : element);
  const proto =
    nthFromRight((headers.get('x-forwarded-proto') ?? '').split(','), trustProxy) ||
    (forwardedParameter(element, 'proto') ?? '');
  return { ...(node ?? transport), secure: proto.trim().replaceAll('"', '').toLowerCase() === 'https' };
}
