import { limits } from './limits.ts';

/**
 * The one file that loads uWebSockets.js, typed as far as the server uses it. Accepts named exports (the repack on
 * npm) and a default export (the official package), and methods that only newer builds have.
 *
 * What the build answers by itself, before any code here runs, and therefore without an access-log line: 400 on
 * impossible framing, 431 above the header limit or above 100 headers, 505 on HTTP/1.0, a silent close without Host.
 * It also closes a connection that sends its next request while an asynchronous answer is pending (pipelining), that
 * is idle for 8 to 12 s, or that sends a body slower than 16 KB/s.
 */
export interface UwsResponse {
  writeStatus(status: string): UwsResponse;
  writeHeader(name: string, value: string): UwsResponse;
  /** False when the rest is held back by the socket; an empty chunk would end the body. */
  write(chunk: Uint8Array | string): boolean;
  end(body?: Uint8Array | string, closeConnection?: boolean): UwsResponse;
  endWithoutBody(reportedContentLength?: number, closeConnection?: boolean): UwsResponse;
  /** [nothing held back, response complete] */
  tryEnd(chunk: Uint8Array, totalSize: number): [boolean, boolean];
  /** Breaks the connection; the abort handler runs. */
  close(): UwsResponse;
  cork(callback: () => void): UwsResponse;
  onAborted(handler: () => void): UwsResponse;
  onWritable(handler: (offset: number) => boolean): UwsResponse;
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): UwsResponse;
  /** Stops and goes on with receiving the body; as all else, not after the answer is complete. */
  pause(): void;
  resume(): void;
  getRemoteAddress(): ArrayBuffer;
  getRemotePort?(): number;
}

export interface UwsRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  forEach(callback: (name: string, value: string) => void): void;
}

export type UwsListenSocket = object;

export interface UwsApp {
  any(pattern: string, handler: (res: UwsResponse, req: UwsRequest) => void): UwsApp;
  listen(
    host: string,
    port: number,
    options: number,
    callback: (socket: UwsListenSocket | false) => void,
  ): UwsApp;
  close(): UwsApp;
}

export interface Uws {
  App(): UwsApp;
  us_listen_socket_close(socket: UwsListenSocket): void;
  us_socket_local_port(socket: UwsListenSocket): number;
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  _cfg?(key: string): void;
}

function isUws(value: unknown): value is Uws {
  return typeof value === 'object' && value !== null && 'App' in value && typeof value.App === 'function';
}

async function load(): Promise<Uws> {
  // The library reads its header limit from the environment, once, while it is loaded: hence no static import.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(limits.headersBytesMax);
  const loaded: object = await import('uWebSockets.js');
  const found = [loaded, 'default' in loaded ? loaded.default : undefined].find(isUws);
  if (found === undefined) throw new Error('uWebSockets.js has neither named exports nor a default export');
  // The library's switch for leaving its name and version out of every response.
  found._cfg?.('999999990007');
  return found;
}

export const uws: Uws = await load();
