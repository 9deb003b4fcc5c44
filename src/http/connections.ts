import { descriptorsMax } from '../base/descriptors.ts';
import type { Logger } from '../base/log.ts';
import { counter, gauge } from '../base/metrics.ts';
import { limits } from './limits.ts';
import type { UwsApp, UwsResponse } from './uws.ts';

const refused = counter(
  'auditlog_http_connections_refused_total',
  'Connections that were closed at once, as there were auditlog_http_connections_max',
  [],
);

/**
 * Counts the connections of this process, and closes at once those beyond what its descriptors allow: the log, the engine
 * and the worker threads need some, and without one nothing is written or read any more.
 */
export class Connections {
  readonly #log: Logger;
  readonly #max: number;
  #open = 0;
  #toldAtMs = Number.NEGATIVE_INFINITY;

  constructor(log: Logger, descriptors = descriptorsMax()) {
    this.#log = log;
    const reserved = Math.min(limits.reservedDescriptors, Math.floor(descriptors / 2));
    this.#max = descriptors - reserved;
    gauge('auditlog_http_connections', 'Open connections of clients', [], (it) => it.set(this.#open));
    gauge('auditlog_http_connections_max', 'How many there may be, by the limit of open files', [], (it) =>
      it.set(this.#max),
    );
  }

  /** Beyond so many a connection is closed at once. */
  get max(): number {
    return this.#max;
  }

  /** Counts those of an app, which must not listen yet. */
  watch(app: UwsApp): void {
    app.filter((res, change) => {
      this.#open += change;
      if (change > 0 && this.#open > this.#max) this.#refuse(res);
    });
  }

  #refuse(res: UwsResponse): void {
    refused.inc();
    res.close();
    if (performance.now() - this.#toldAtMs < limits.refusedConnectionsLogMs) return;
    this.#toldAtMs = performance.now();
    this.#log.warn(
      { connectionsMax: this.#max },
      'connections are refused: there are as many as the limit of open files allows (LimitNOFILE, ulimit -n)',
    );
  }
}
