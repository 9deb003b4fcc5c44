import { readFile } from 'node:fs/promises';
import { messageOf } from '../base/errors/system-error.ts';
import { certificateFacts, type CertificateFacts } from '../base/network/certificate.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { gauge } from '../base/observability/metrics.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import type { CertificateFiles } from './deps.ts';

const certificateLookMs = 2_000;

interface CertificateWatchDeps {
  readonly files: CertificateFiles;
  readonly log: Logger;
  readonly replace: (facts: CertificateFacts) => void;
  readonly lookMs?: number;
}

/**
 * Polls, because tools replace files in many ways (same name, switched links). Invalid files keep the old certificate and are
 * reported once.
 */
export class CertificateWatch {
  readonly #deps: CertificateWatchDeps;
  #served: CertificateFacts;
  #refused: string | undefined;
  readonly #looking: Repeated;

  private constructor(deps: CertificateWatchDeps, served: CertificateFacts) {
    this.#deps = deps;
    this.#served = served;
    this.#looking = new Repeated(
      deps.lookMs ?? certificateLookMs,
      () => this.#look(),
      (error) => deps.log.error(errorFacts(error), 'Could not read the certificate files'),
    );
    if (served.endsMs <= Date.now())
      deps.log.error({ ended: new Date(served.endsMs) }, 'TLS_CERT has expired');
    gauge(
      'auditlog_tls_certificate_expiry_timestamp_seconds',
      'Expiry of the served certificate, Unix seconds',
      [],
      (it) => it.set(this.#served.endsMs / 1000),
    );
    gauge(
      'auditlog_tls_certificate_refused',
      '1 while TLS_CERT or TLS_CLIENT_CA holds something that cannot be served, and the old certificate stays',
      [],
      (it) => it.set(this.#refused === undefined ? 0 : 1),
    );
  }

  static async start(deps: CertificateWatchDeps): Promise<CertificateWatch> {
    return new CertificateWatch(deps, await read(deps.files));
  }

  get served(): CertificateFacts {
    return this.#served;
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  async #look(): Promise<void> {
    const { files, log, replace } = this.#deps;
    try {
      const current = await read(files);
      if (current.version !== this.#served.version) {
        if (current.endsMs <= Date.now()) throw new Error('the certificate has expired');
        replace(current);
        this.#served = current;
        log.info({ ends: new Date(current.endsMs) }, 'A new certificate is served');
      }
      this.#refused = undefined;
    } catch (error) {
      const why = messageOf(error);
      if (why === this.#refused) return;
      this.#refused = why;
      log.error(
        { ...files, ...errorFacts(error) },
        'The new certificate is invalid; the old one stays in use',
      );
    }
  }
}

async function read({ pem, clientCa }: CertificateFiles): Promise<CertificateFacts> {
  const text = (path: string): Promise<string> => readFile(path, 'utf8');
  const texts = await Promise.all([text(pem), clientCa === undefined ? undefined : text(clientCa)]);
  return certificateFacts({ pem: texts[0], clientCa: texts[1] });
}
