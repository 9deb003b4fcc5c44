import { checkAddress } from '../base/network/address.ts';
import type { Connections } from './connections.ts';
import { listenAt, uws, type UwsListenSocket, type UwsRequest, type UwsResponse } from './uws.ts';

const hostPattern = /^([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{1,5})?$/;
const credentials = ['x-api-key', 'authorization'];

/**
 * Plain HTTP that leads to TLS (HTTP_REDIRECT_PORT). A browser is sent on. What has a key with it, or wants to change
 * something, is refused instead: its sender has to hear that it goes the wrong way, or would send its key in the open
 * each time before it is sent on.
 */
export class RedirectServer {
  readonly #app = uws.App();
  readonly #tlsPort: number;
  #socket: UwsListenSocket = false;

  constructor(tlsPort: number, connections: Connections) {
    this.#tlsPort = tlsPort;
    connections.watch(this.#app);
    this.#app.any('/*', (res, req) => this.#answer(res, req));
  }

  /** Resolves with the port. */
  async listen(host: string, port: number): Promise<number> {
    const socket = await listenAt(this.#app, host, port);
    if (socket === false) {
      await checkAddress(host, port);
      throw new Error(`cannot listen on ${host} port ${port}`);
    }
    this.#socket = socket;
    return uws.us_socket_local_port(socket);
  }

  close(): void {
    if (this.#socket !== false) uws.us_listen_socket_close(this.#socket);
    this.#socket = false;
    this.#app.close();
  }

  #answer(res: UwsResponse, req: UwsRequest): void {
    const method = req.getCaseSensitiveMethod();
    let hosts = 0;
    req.forEach((name) => (hosts += name === 'host' ? 1 : 0));
    const [, host] = hostPattern.exec(hosts === 1 ? req.getHeader('host') : '') ?? [];
    const mayFollow = method === 'GET' || method === 'HEAD';
    const isOpen = credentials.some((name) => req.getHeader(name) !== '');
    if (host === undefined || !mayFollow || isOpen) {
      res.writeStatus('403 Forbidden').writeHeader('Content-Type', 'text/plain; charset=utf-8');
      res.writeHeader('Connection', 'close').end('This port only leads browsers to https.\n', true);
      return;
    }
    const port = this.#tlsPort === 443 ? '' : `:${this.#tlsPort}`;
    const query = req.getQuery();
    res.writeStatus('308 Permanent Redirect').writeHeader('Cache-Control', 'no-store');
    res.writeHeader('Location', `https://${host}${port}${req.getUrl()}${query ? `?${query}` : ''}`);
    if (method === 'HEAD') res.endWithoutBody(0);
    else res.end();
  }
}
