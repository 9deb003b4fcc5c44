import { readFileSync } from 'node:fs';
import { errorCode } from '../base/errors/system-error.ts';
import type { Logger } from '../base/observability/log.ts';
import { counter, gauge } from '../base/observability/metrics.ts';
import { descriptorsMax } from '../base/processes/descriptors.ts';
import type { UwsApp, UwsResponse } from './uws.ts';

const addressCountsMs = 1_000;

/**
 * Kept for the log, threads and the engine (64 statements, 48 streams, 8 or more reads). With few
 * descriptors, half of them.
 */
const reservedDescriptors = 384;
const refusedConnectionsLogMs = 60_000;

const refused = counter(
  'auditlog_http_connections_refused_total',
  'Connections closed at once because of too many in all, or of one address',
  ['reason'],
);

export interface ConnectionsOptions {
  readonly log: Logger;
  readonly trustProxy: number;
}

/** Closes connections beyond the descriptors: the log, the engine and the worker threads need some. */
export class Connections {
  readonly #log: Logger;
  readonly #max: number;
  readonly #perAddress: number;
  readonly #counts = new AddressCounts();
  #port = 0;
  #open = 0;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor({ log, trustProxy }: ConnectionsOptions) {
    this.#log = log;
    const descriptors = descriptorsMax();
    const reserved = Math.min(reservedDescriptors, Math.floor(descriptors / 2));
    this.#max = descriptors - reserved;
    // A proxy's connections belong to all clients.
    this.#perAddress = trustProxy > 0 ? this.#max : Math.floor(this.#max / 2);
    gauge('auditlog_http_connections', 'Open connections of clients', [], (it) => it.set(this.#open));
    gauge('auditlog_http_connections_max', 'Maximum of connections, from the limit of open files', [], (it) =>
      it.set(this.#max),
    );
  }

  get max(): number {
    return this.#max;
  }

  get perAddress(): number {
    return this.#perAddress;
  }

  listensOn(port: number): void {
    this.#port = port;
  }

  watch(app: UwsApp): void {
    app.filter((res, change) => {
      this.#open += change;
      if (change < 0) return;
      if (this.#open > this.#max) this.#refuse(res, 'all');
      else if (this.#isTooManyOfOne(res)) this.#refuse(res, 'address');
    });
  }

  #isTooManyOfOne(res: UwsResponse): boolean {
    if (this.#perAddress >= this.#max || this.#open <= this.#perAddress) return false;
    return this.#counts.withNew(res.getRemoteAddress(), this.#port) > this.#perAddress;
  }

  #refuse(res: UwsResponse, reason: 'all' | 'address'): void {
    refused.inc({ reason });
    res.close();
    if (performance.now() - this.#loggedAtMs < refusedConnectionsLogMs) return;
    this.#loggedAtMs = performance.now();
    this.#log.warn(
      { reason, connectionsMax: this.#max, connectionsPerAddress: this.#perAddress },
      'Connections are refused: the maximum of the limit of open files (LimitNOFILE, ulimit -n) or of one address is reached',
    );
  }
}

const mappedPrefix = `${'0'.repeat(16)}FFFF0000`;

/** The table has 32-bit words in this machine's byte order, in hexadecimal. Result as of `clientOfAddress`. */
function clientOfHex(hex: string): string {
  if (hex.length === 8) return hex;
  return hex.startsWith(mappedPrefix) ? hex.slice(-8) : hex.slice(0, 16);
}

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

/** One line a connection: number, local address and port, remote ones, state (01 is open). */
const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
const openConnection = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+):[0-9A-F]{4} 01 /gm;

/**
 * Connections of each client to a port. The library does not report whose connection closed, so this reads the system's table
 * every `addressCountsMs` and counts new ones in between.
 */
export class AddressCounts {
  #counts = new Map<string, number>();
  #countedAtMs = Number.NEGATIVE_INFINITY;

  withNew(binary: ArrayBuffer, port: number): number {
    const client = clientOfBytes(binary);
    if (performance.now() - this.#countedAtMs > addressCountsMs) {
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

function tableText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'EACCES') return '';
    throw error;
  }
}
