import type { AppOptions, HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { httpPackage } from '../base/platform.js';
import { limits } from './limits.ts';

/**
 * Loads the build for the running Node (`base/platform.js`). README.md lists the answers that the library
 * sends itself.
 */
export const uws = await load();

/**
 * Bytes of one `write`, with framing. The older build loses bytes beyond its cork buffer of 16 KiB. In the newer one a connection
 * counts as idle until all buffered bytes are sent.
 */
export const writeBytesMax = (httpPackage.package === 'uwebsockets' ? 64 : 15) * 1024;

export type UwsRequest = HttpRequest;
export type UwsResponse = HttpResponse & { getRemotePort?(): number; getX509Certificate(): string };
export type UwsListenSocket = us_listen_socket | false;

/** Adds members that the package's types lack. */
export interface UwsApp extends Pick<TemplatedApp, 'close'> {
  any(path: string, serve: (res: UwsResponse, req: UwsRequest) => void): this;
  listen(host: string, port: number, options: number, callback: (socket: UwsListenSocket) => void): void;
  /** Called when a connection opens (1) and after it closed (-1); `res` may then be closed. */
  filter(changed: (res: UwsResponse, change: number) => void): this;
  /** Identifies an app for the methods below. */
  getDescriptor(): unknown;
  addChildAppDescriptor(descriptor: unknown): void;
  removeChildAppDescriptor(descriptor: unknown): void;
}

type Uws = Omit<typeof import('uWebSockets.js'), 'App' | 'SSLApp'> & {
  App(): UwsApp;
  /** Throws if it rejects the files. */
  SSLApp(options: AppOptions): UwsApp;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  _cfg?(key: string): void;
};

function isUws(value: unknown): value is Uws {
  return typeof value === 'object' && value !== null && 'App' in value && typeof value.App === 'function';
}

async function load(): Promise<Uws> {
  // The library reads its header limit from the environment while it loads: hence no static import.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(limits.headersBytesMax);
  const loaded: object = await (httpPackage.package === 'uwebsockets'
    ? import('uwebsockets')
    : import('uWebSockets.js'));
  const library = [loaded, 'default' in loaded ? loaded.default : undefined].find(isUws);
  if (library === undefined)
    throw new Error(`${httpPackage.package} has neither named exports nor a default export`);
  // The library's switch that hides its name and version in responses.
  library._cfg?.('999999990007');
  return library;
}

export function listenAt(app: UwsApp, host: string, port: number): Promise<UwsListenSocket> {
  return new Promise((resolve) => {
    // By default the library would share the port with another server, and each get half of the requests.
    app.listen(host, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, resolve);
  });
}
