import { readFileSync } from 'node:fs';
import { errorCode } from '../base/errors/system-error.ts';
import { limits } from './limits.ts';

const mappedPrefix = `${'0'.repeat(16)}FFFF0000`;

/**
 * Who an address stands for, from the system's own spelling of it: words of 32 bits in the order of this machine, in
 * hexadecimal digits. IPv4 inside IPv6 is IPv4; of IPv6 the first half counts, as where requests are (`clientOfAddress`).
 */
function clientOfHex(hex: string): string {
  if (hex.length === 8) return hex;
  return hex.startsWith(mappedPrefix) ? hex.slice(-8) : hex.slice(0, 16);
}

/** The same of an address of 4 or 16 bytes. */
function clientOfBytes(binary: ArrayBuffer): string {
  const words: string[] = [];
  for (let at = 0; at + 4 <= binary.byteLength; at += 4)
    words.push(
      Buffer.from(new Uint8Array(binary, at, 4).toReversed())
        .toString('hex')
        .toUpperCase(),
    );
  return clientOfHex(words.join(''));
}

/** Tables of the system, a line a connection: number, local address and port, the other's, state (01 is open). */
const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
const openConnection = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+):[0-9A-F]{4} 01 /gm;

/**
 * How many connections each client has to a port. The library does not say whose connection has closed, so the system is
 * asked, at most every `addressCountsMs`; in between those that open are added.
 */
export class AddressCounts {
  #counts = new Map<string, number>();
  #countedAtMs = Number.NEGATIVE_INFINITY;

  /** Of the client at an address, with its connection that has just been opened. */
  withNew(binary: ArrayBuffer, port: number): number {
    const client = clientOfBytes(binary);
    if (performance.now() - this.#countedAtMs > limits.addressCountsMs) {
      this.#counts = countAll(port);
      this.#countedAtMs = performance.now();
    } else this.#counts.set(client, (this.#counts.get(client) ?? 0) + 1);
    return this.#counts.get(client) ?? 0;
  }
}

function countAll(port: number): Map<string, number> {
  const counts = new Map<string, number>();
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  for (const table of tables) {
    for (const [, local, other = ''] of tableText(table).matchAll(openConnection)) {
      if (local !== wanted) continue;
      const client = clientOfHex(other);
      counts.set(client, (counts.get(client) ?? 0) + 1);
    }
  }
  return counts;
}

/** Nothing where the system has no such table: IPv6 may be switched off. */
function tableText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'EACCES') return '';
    throw error;
  }
}
