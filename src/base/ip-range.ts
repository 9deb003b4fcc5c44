import { isIPv4, isIPv6 } from 'node:net';

/** First and last address, both as IPv6 in eight groups; an IPv4 address is the IPv6 one that maps it. */
export interface IpRange {
  readonly first: string;
  readonly last: string;
}

const bitsOfAll = 128n;
const mappedPrefix = 0xffffn << 32n;

/**
 * The addresses that a text means: one, or all of a range written as CIDR; undefined where it is neither. The unspecified
 * address is none: in the table it stands for events without one.
 */
export function parseIpRange(text: string): IpRange | undefined {
  const range = numbersOf(text);
  if (range === undefined || range.last === 0n) return undefined;
  return { first: addressText(range.first || 1n), last: addressText(range.last) };
}

function numbersOf(text: string): { readonly first: bigint; readonly last: bigint } | undefined {
  const [address = '', bits, ...more] = text.split('/');
  const number = addressNumber(address);
  const most = isIPv4(address) ? 32 : 128;
  if (number === undefined || more.length > 0) return undefined;
  if (bits === undefined) return { first: number, last: number };
  if (!/^(?:0|[1-9]\d{0,2})$/.test(bits) || Number(bits) > most) return undefined;
  const inRange = (1n << BigInt(most - Number(bits))) - 1n;
  const last = number | inRange;
  return { first: last ^ inRange, last };
}

function addressNumber(text: string): bigint | undefined {
  if (isIPv4(text)) return mappedPrefix | numberOfIpv4(text);
  // A zone names an interface of some machine.
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const whole = text.replace(/\d+\.\d+\.\d+\.\d+$/, (ipv4) => {
    const number = numberOfIpv4(ipv4);
    return `${(number >> 16n).toString(16)}:${(number & 0xffffn).toString(16)}`;
  });
  const [before = [], after = []] = whole.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

function numberOfIpv4(text: string): bigint {
  return text.split('.').reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

function addressText(number: bigint): string {
  const groups: string[] = [];
  for (let shift = bitsOfAll - 16n; shift >= 0n; shift -= 16n)
    groups.push(((number >> shift) & 0xffffn).toString(16));
  return groups.join(':');
}
