import type { AppOptions, HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { httpPackage } from '../base/platform.js';
import { limits } from './limits.ts';

/**
 * The one file that loads uWebSockets.js, in the build that fits the running Node (`base/platform.js` says which).
 * Accepts named exports and a default export (the official package), and methods that only newer builds have.
 *
 * What the build answers by itself, before any code here runs, and therefore without an access-log line: 400 on
 * impossible framing, 431 above the header limit or 98 headers, 505 on HTTP/1.0 and on a target that is no
 * path, such as `http://host/path` and `*`, a silent close or 400 without Host. It also closes a connection on which it
 * reads the next request, or the client's end, while an asynchronous answer is pending (`Exchange.hold` keeps it from
 * reading), that is idle for 8 to 12 s, or that sends a body slower than 16 KB/s.
 */
export const uws = await load();

/**
 * How much one `write` may have, with its framing. The build for older systems loses bytes of a write that does not
 * fit into its cork buffer of 16 KiB: where the socket fills up at the wrong moment it sends the length of a chunk,
 * not the chunk. The newer one has been mended. A bound serves slow readers there: the library counts a connection as
 * idle until all that it holds for it has gone out.
 */
export const writeBytesMax = (httpPackage.package === 'uwebsockets' ? 64 : 15) * 1024;

export type UwsRequest = HttpRequest;
export type UwsResponse = HttpResponse & { getRemotePort?(): number; getX509Certificate(): string };
export type UwsListenSocket = us_listen_socket | false;

/** With what the package's types leave out. */
export interface UwsApp extends Pick<TemplatedApp, 'close'> {
  any(path: string, serve: (res: UwsResponse, req: UwsRequest) => void): this;
  listen(host: string, port: number, options: number, callback: (socket: UwsListenSocket) => void): void;
  /** Called when a connection of the app opens (1) and when it has closed (-1); `res` may then be closed. */
  filter(changed: (res: UwsResponse, change: number) => void): this;
  /** Names an app to the methods below. */
  getDescriptor(): unknown;
  /** From now on connections that come in on this app's listening socket are taken by others, in turns. */
  addChildAppDescriptor(descriptor: unknown): void;
  removeChildAppDescriptor(descriptor: unknown): void;
}

type Uws = Omit<typeof import('uWebSockets.js'), 'App' | 'SSLApp'> & {
  App(): UwsApp;
  /** Throws where it cannot take the files. */
  SSLApp(options: AppOptions): UwsApp;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  _cfg?(key: string): void;
};

function isUws(value: unknown): value is Uws {
  return typeof value === 'object' && value !== null && 'App' in value && typeof value.App === 'function';
}

async function load(): Promise<Uws> {
  // The library reads its header limit from the environment, once, while it is loaded: hence no static import.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(limits.headersBytesMax);
  const loaded: object = await (httpPackage.package === 'uwebsockets'
    ? import('uwebsockets')
    : import('uWebSockets.js'));
  const found = [loaded, 'default' in loaded ? loaded.default : undefined].find(isUws);
  if (found === undefined)
    throw new Error(`${httpPackage.package} has neither named exports nor a default export`);
  // The library's switch for leaving its name and version out of every response.
  found._cfg?.('999999990007');
  return found;
}

/** False if the address cannot be had. */
export function listenAt(app: UwsApp, host: string, port: number): Promise<UwsListenSocket> {
  return new Promise((resolve) => {
    // By default the library would share a port with another server, and each get half of the requests.
    app.listen(host, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, resolve);
  });
}
