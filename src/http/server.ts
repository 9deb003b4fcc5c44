import { limits } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { AccessLog } from './access-log.ts';
import { checkAddress } from './address.ts';
import { BodyBudget } from './body.ts';
import { createHttpMetrics } from './http-metrics.ts';
import type { Router } from './router.ts';
import { serveRequest, type Shared } from './serve-request.ts';
import { StallWatch } from './stream-reply.ts';
import { uws, type UwsListenSocket } from './uws.ts';

export interface HttpServerOptions {
  readonly host: string;
  /** 0 = a free one. */
  readonly port: number;
  readonly router: Router;
  readonly log: Logger;
  readonly accessLog: AccessLog;
  /** Number of proxy hops whose forwarding headers are believed. */
  readonly trustProxy: number;
  /** Bytes of all request bodies in memory; default limits.bodiesInFlightBytesMax. */
  readonly bodiesInFlightBytesMax?: number;
}

export interface HttpServer {
  readonly port: number;
  /** No new connections; requests on open ones are answered 503 from now on, those being answered go on. */
  stopAccepting(): void;
  /** True once no request is being answered, false when that takes longer than the milliseconds. */
  drained(timeoutMs: number): Promise<boolean>;
  /** Breaks every connection that is left. */
  close(): void;
  /** Requests received whose answer, or handler, is not finished. */
  inFlight(): number;
}

/** Counts what is in progress, and tells when it reaches nothing. */
function createInFlight() {
  let count = 0;
  const waiting = new Set<() => void>();
  return {
    count: () => count,
    enter: (): void => void count++,
    leave: (): void => {
      count--;
      if (count === 0) for (const tell of waiting) tell();
    },
    emptied: (timeoutMs: number): Promise<boolean> => {
      if (count === 0) return Promise.resolve(true);
      return new Promise((resolve) => {
        const settle = (empty: boolean): void => {
          clearTimeout(timer);
          waiting.delete(tell);
          resolve(empty);
        };
        const timer = setTimeout(() => settle(false), timeoutMs);
        const tell = (): void => settle(true);
        waiting.add(tell);
      });
    },
  };
}

/** Listens. Rejects with words for the operator when the address cannot be had, another server's port for instance. */
export function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port } = options;
  const inFlight = createInFlight();
  let draining = false;
  const shared: Shared = {
    router: options.router,
    log: options.log,
    accessLog: options.accessLog,
    trustProxy: options.trustProxy,
    budget: new BodyBudget(options.bodiesInFlightBytesMax ?? limits.bodiesInFlightBytesMax),
    watch: new StallWatch(),
    observe: createHttpMetrics(inFlight.count),
    draining: () => draining,
    inFlight: inFlight.count,
    enter: inFlight.enter,
    leave: inFlight.leave,
  };
  const app = uws.App().any('/*', (res, req) => serveRequest(shared, res, req));
  return new Promise((resolve, reject) => {
    const onListen = (socket: UwsListenSocket | false): void => {
      if (socket === false) {
        shared.watch.close();
        app.close();
        const words = `cannot listen on ${host} port ${port}`;
        checkAddress(host, port).then(() => reject(new Error(words)), reject);
        return;
      }
      let listening = true;
      const stopAccepting = (): void => {
        draining = true;
        if (listening) uws.us_listen_socket_close(socket);
        listening = false;
      };
      resolve({
        port: uws.us_socket_local_port(socket),
        stopAccepting,
        drained: inFlight.emptied,
        close() {
          stopAccepting();
          shared.watch.close();
          app.close();
        },
        inFlight: inFlight.count,
      });
    };
    // Exclusively: by default the library would share a port with another server, and each get half of the requests.
    app.listen(host, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, onListen);
  });
}
