import { descriptorsMax } from '../base/processes/descriptors.ts';
import type { Logger } from '../base/observability/log.ts';
import { counter, gauge } from '../base/observability/metrics.ts';
import { AddressCounts } from './address-counts.ts';
import { limits } from './limits.ts';
import type { UwsApp, UwsResponse } from './uws.ts';

const refused = counter(
  'auditlog_http_connections_refused_total',
  'Connections that were closed at once: there were too many in all, or of one address',
  ['reason'],
);

export interface ConnectionsOptions {
  readonly log: Logger;
  /** Number of proxy hops in front. */
  readonly trustProxy: number;
  /** Of one address; default: half of what there may be, and behind a proxy all. */
  readonly connectionsPerAddress?: number | undefined;
  /** Processes that share the port; default 1. */
  readonly processes?: number;
}

/**
 * Counts the connections of this process, and closes at once those beyond what its descriptors allow: the log, the engine
 * and the worker threads need some, and without one nothing is written or read any more.
 */
export class Connections {
  readonly #log: Logger;
  readonly #max: number;
  readonly #perAddress: number;
  readonly #ofAllProcesses: number;
  readonly #counts = new AddressCounts();
  #port = 0;
  #open = 0;
  #toldAtMs = Number.NEGATIVE_INFINITY;

  constructor({ log, trustProxy, connectionsPerAddress, processes = 1 }: ConnectionsOptions) {
    this.#log = log;
    const descriptors = descriptorsMax();
    const reserved = Math.min(limits.reservedDescriptors, Math.floor(descriptors / 2));
    this.#max = descriptors - reserved;
    // The connections of a proxy are those of all clients.
    const perAddress = trustProxy > 0 ? this.#max : Math.floor(this.#max / 2);
    this.#perAddress = Math.min(this.#max, connectionsPerAddress ?? perAddress);
    this.#ofAllProcesses = this.#perAddress * processes;
    gauge('auditlog_http_connections', 'Open connections of clients', [], (it) => it.set(this.#open));
    gauge('auditlog_http_connections_max', 'How many there may be, by the limit of open files', [], (it) =>
      it.set(this.#max),
    );
  }

  /** Beyond so many a connection is closed at once. */
  get max(): number {
    return this.#max;
  }

  get perAddress(): number {
    return this.#perAddress;
  }

  /** Where clients connect to. */
  listensOn(port: number): void {
    this.#port = port;
  }

  /** Counts those of an app, which must not listen yet. */
  watch(app: UwsApp): void {
    app.filter((res, change) => {
      this.#open += change;
      if (change < 0) return;
      if (this.#open > this.#max) this.#refuse(res, 'all');
      else if (this.#isTooManyOfOne(res)) this.#refuse(res, 'address');
    });
  }

  /** The connections of an address are counted only where they could be too many; those of all processes together. */
  #isTooManyOfOne(res: UwsResponse): boolean {
    if (this.#perAddress >= this.#max || this.#open <= this.#perAddress) return false;
    return this.#counts.withNew(res.getRemoteAddress(), this.#port) > this.#ofAllProcesses;
  }

  #refuse(res: UwsResponse, reason: 'all' | 'address'): void {
    refused.inc({ reason });
    res.close();
    if (performance.now() - this.#toldAtMs < limits.refusedConnectionsLogMs) return;
    this.#toldAtMs = performance.now();
    this.#log.warn(
      { reason, connectionsMax: this.#max, connectionsPerAddress: this.#perAddress },
      'connections are refused: there are as many as the limit of open files (LimitNOFILE, ulimit -n) or of one address allows',
    );
  }
}
