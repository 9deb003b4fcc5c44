import type { Connections } from './connections.ts';
import type { CertificateFiles } from './deps.ts';
import { uws, type UwsApp, type UwsRequest, type UwsResponse } from './uws.ts';

/**
 * Of TLS 1.2, what has forward secrecy and authenticated encryption; those of TLS 1.3 are all good. Older versions the
 * library refuses by itself.
 */
const ciphers = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

type Serve = (res: UwsResponse, req: UwsRequest) => void;

/**
 * Serves over TLS with a certificate that can be replaced. The library has one for each app, for as long as the app
 * lives. So one app listens and passes each connection on to another one, which answers; a new certificate is a new app
 * for new connections, while those of the one before go on with it. Each replacement costs 34 KB, which is not freed.
 */
export class TlsApps {
  readonly #files: CertificateFiles;
  readonly #serve: Serve;
  readonly #connections: Connections;
  readonly #all: UwsApp[] = [];
  readonly #listening: UwsApp;
  #answering: UwsApp;

  /** Throws where the library cannot take the files. */
  constructor(files: CertificateFiles, serve: Serve, connections: Connections) {
    this.#files = files;
    this.#serve = serve;
    this.#connections = connections;
    this.#listening = this.#newApp();
    this.#answering = this.#newApp();
    this.#listening.addChildAppDescriptor(this.#answering.getDescriptor());
  }

  /** The app whose socket listens. */
  get listening(): UwsApp {
    return this.#listening;
  }

  /** Takes what is in the files now for connections that come from here on. Throws, and goes on as before, where it cannot. */
  replace(): void {
    const before = this.#answering;
    this.#answering = this.#newApp();
    this.#listening.addChildAppDescriptor(this.#answering.getDescriptor());
    this.#listening.removeChildAppDescriptor(before.getDescriptor());
  }

  /** Breaks every connection. */
  close(): void {
    for (const app of this.#all.splice(0)) app.close();
  }

  #newApp(): UwsApp {
    const { pem, clientCa } = this.#files;
    const app = uws.SSLApp({
      cert_file_name: pem,
      key_file_name: pem,
      ...(clientCa !== undefined && { ca_file_name: clientCa }),
      ssl_ciphers: ciphers,
      // Buffers of idle connections are let go: there may be many more of them than of busy ones.
      ssl_prefer_low_memory_usage: true,
    });
    this.#connections.watch(app);
    app.any('/*', this.#serve);
    this.#all.push(app);
    return app;
  }
}
