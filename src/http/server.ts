import { limits } from '../base/limits.ts';
import { checkAddress } from '../base/network/address.ts';
import type { CertificateFiles } from './deps.ts';
import { BodyBudget } from './body.ts';
import { Connections, type ConnectionsOptions } from './connections.ts';
import { createHttpMetrics } from './http-metrics.ts';
import { InFlight } from './in-flight.ts';
import { RequestServer, type RequestServerDeps } from './request-server.ts';
import { StallWatch } from './stall-watch.ts';
import { TlsApps } from './tls-apps.ts';
import {
  listenAt,
  uws,
  type UwsApp,
  type UwsListenSocket,
  type UwsRequest,
  type UwsResponse,
} from './uws.ts';

export interface HttpServerOptions
  extends Pick<RequestServerDeps, 'router' | 'log' | 'accessLog' | 'trustProxy'>,
    Omit<ConnectionsOptions, 'log' | 'trustProxy'> {
  readonly host: string;
  readonly port: number;
  readonly tls?: CertificateFiles | undefined;
  readonly bodiesInFlightBytesMax?: number;
}

export class HttpServer {
  readonly #tls: TlsApps | undefined;
  readonly #app: UwsApp;
  readonly #watch = new StallWatch();
  readonly #inFlight = new InFlight();
  readonly #requests: RequestServer;
  readonly connections: Connections;
  #socket: UwsListenSocket = false;
  #port = 0;

  constructor({ bodiesInFlightBytesMax, tls, ...deps }: Omit<HttpServerOptions, 'host' | 'port'>) {
    this.#requests = new RequestServer({
      ...deps,
      tls: tls !== undefined,
      asksCertificate: tls?.clientCa !== undefined,
      budget: new BodyBudget(bodiesInFlightBytesMax ?? limits.bodiesInFlightBytesMax),
      watch: this.#watch,
      inFlight: this.#inFlight,
      observe: createHttpMetrics(() => this.#inFlight.count),
    });
    this.connections = new Connections(deps);
    const serve = (res: UwsResponse, req: UwsRequest): void => this.#requests.serve(res, req);
    this.#tls = tls && new TlsApps(tls, serve, this.connections);
    this.#app = this.#tls?.listening ?? this.#plainApp(serve);
  }

  #plainApp(serve: (res: UwsResponse, req: UwsRequest) => void): UwsApp {
    const app = uws.App();
    this.connections.watch(app);
    return app.any('/*', serve);
  }

  get port(): number {
    return this.#port;
  }

  /** Rejects with a message for the operator if the address is not available. */
  async listen(host: string, port: number): Promise<void> {
    const socket = await listenAt(this.#app, host, port);
    if (socket === false) {
      this.close();
      await checkAddress(host, port);
      throw new Error(`cannot listen on ${host} port ${port}`);
    }
    this.#socket = socket;
    this.#port = uws.us_socket_local_port(socket);
    this.connections.listensOn(this.#port);
  }

  /** Throws if the files are invalid; the old certificate stays. */
  replaceCertificate(): void {
    this.#tls?.replace();
  }

  stopAccepting(): void {
    this.#requests.drain();
    if (this.#socket !== false) uws.us_listen_socket_close(this.#socket);
    this.#socket = false;
  }

  drained(timeoutMs: number): Promise<boolean> {
    return this.#inFlight.emptied(timeoutMs);
  }

  close(): void {
    this.stopAccepting();
    this.#watch.close();
    this.#tls?.close();
    if (this.#tls === undefined) this.#app.close();
  }

  inFlight(): number {
    return this.#inFlight.count;
  }
}

export async function startHttpServer({ host, port, ...options }: HttpServerOptions): Promise<HttpServer> {
  const server = new HttpServer(options);
  await server.listen(host, port);
  return server;
}
