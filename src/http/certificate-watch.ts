import { readFile } from 'node:fs/promises';
import { messageOf } from '../base/errors/system-error.ts';
import { certificateFacts, type CertificateFacts } from '../base/network/certificate.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { gauge } from '../base/observability/metrics.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import type { CertificateFiles } from './deps.ts';

/** Time between looks at the files of the certificate. */
const certificateLookMs = 2_000;

interface CertificateWatchDeps {
  readonly files: CertificateFiles;
  readonly log: Logger;
  /** Begins to serve what is in the files. Throws where that cannot be. */
  readonly replace: (facts: CertificateFacts) => void;
  /** Default certificateLookMs. */
  readonly lookMs?: number;
}

/**
 * Reads the files of the certificate again and again, as their programs write them in many ways (a new file under the
 * same name, links that are turned), and has what is new served. What cannot be served leaves the old one, and is told
 * once and by a metric: a file may be in the middle of being written.
 */
export class CertificateWatch {
  readonly #deps: CertificateWatchDeps;
  #served: CertificateFacts;
  /** Why the files as they are now are not served. */
  #refused: string | undefined;
  readonly #looking: Repeated;

  private constructor(deps: CertificateWatchDeps, served: CertificateFacts) {
    this.#deps = deps;
    this.#served = served;
    this.#looking = new Repeated(
      deps.lookMs ?? certificateLookMs,
      () => this.#look(),
      (error) => deps.log.error(errorFacts(error), 'the files of the certificate could not be looked at'),
    );
    if (served.endsMs <= Date.now())
      deps.log.error({ ended: new Date(served.endsMs) }, 'TLS_CERT has expired');
    gauge(
      'auditlog_tls_certificate_expiry_timestamp_seconds',
      'When the certificate that is served ends, Unix seconds',
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

  /** Reads the files that are served already, and watches them. */
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
      const found = await read(files);
      if (found.version !== this.#served.version) {
        if (found.endsMs <= Date.now()) throw new Error('the certificate has expired');
        replace(found);
        this.#served = found;
        log.info({ ends: new Date(found.endsMs) }, 'a new certificate is served');
      }
      this.#refused = undefined;
    } catch (error) {
      const why = messageOf(error);
      if (why === this.#refused) return;
      this.#refused = why;
      log.error(
        { ...files, ...errorFacts(error) },
        'the new certificate cannot be served: the old one stays',
      );
    }
  }
}

async function read({ pem, clientCa }: CertificateFiles): Promise<CertificateFacts> {
  const text = (path: string): Promise<string> => readFile(path, 'utf8');
  const texts = await Promise.all([text(pem), clientCa === undefined ? undefined : text(clientCa)]);
  return certificateFacts({ pem: texts[0], clientCa: texts[1] });
}
