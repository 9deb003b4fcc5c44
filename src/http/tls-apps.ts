import type { Connections } from './connections.ts';
import type { CertificateFiles } from './deps.ts';
import { uws, type UwsApp, type UwsRequest, type UwsResponse } from './uws.ts';

/** TLS 1.2 with forward secrecy and authenticated encryption; TLS 1.3 always has both. */
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
 * The library binds a certificate to an app. So one app listens and passes connections to another; a new certificate gets a new
 * app, and old connections stay with theirs. Each replacement leaks 34 KB.
 */
export class TlsApps {
  readonly #files: CertificateFiles;
  readonly #serve: Serve;
  readonly #connections: Connections;
  readonly #all: UwsApp[] = [];
  readonly #listening: UwsApp;
  #answering: UwsApp;

  constructor(files: CertificateFiles, serve: Serve, connections: Connections) {
    this.#files = files;
    this.#serve = serve;
    this.#connections = connections;
    this.#listening = this.#newApp();
    this.#answering = this.#newApp();
    this.#listening.addChildAppDescriptor(this.#answering.getDescriptor());
  }

  get listening(): UwsApp {
    return this.#listening;
  }

  /** If the files are invalid, throws and keeps the old ones. */
  replace(): void {
    const before = this.#answering;
    this.#answering = this.#newApp();
    this.#listening.addChildAppDescriptor(this.#answering.getDescriptor());
    this.#listening.removeChildAppDescriptor(before.getDescriptor());
  }

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
      // Frees buffers of idle connections, which may far outnumber busy ones.
      ssl_prefer_low_memory_usage: true,
    });
    this.#connections.watch(app);
    app.any('/*', this.#serve);
    this.#all.push(app);
    return app;
  }
}
