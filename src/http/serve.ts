import { errorFacts } from '../base/observability/log.ts';
import { AccessLog } from './access-log.ts';
import { localUrl } from '../base/files/server-file.ts';
import type { CertificateFacts } from '../base/network/certificate.ts';
import { CertificateWatch } from './certificate-watch.ts';
import type { CertificateFiles, HttpDeps } from './deps.ts';
import { guardEndpoints } from './guard.ts';
import { loadPageFiles } from './routes/page.ts';
import { showReadiness } from './routes/operations.ts';
import { createRouter } from './router.ts';
import { endpointTable } from './routes.ts';
import { type HttpServer, startHttpServer } from './server.ts';
import { SessionCookie } from './session-cookie.ts';
import { SelfAudit } from './self-audit.ts';

export interface Serving {
  readonly server: HttpServer;
  /** On this machine, without a trailing slash. */
  readonly url: string;
}

export async function serve(given: HttpDeps): Promise<Serving> {
  const { config, log, clock, ingest, organizationOf, stops } = given;
  const { host, port, tls, trustProxy } = config;
  const accessLog = new AccessLog({ destination: given.accessLogTo, clock, log });
  stops.add(() => accessLog.close());
  const selfAudit = new SelfAudit({ ...ingest, organizationOf, clock, log });
  stops.add(() => selfAudit.stop());
  const cookie = new SessionCookie(config.serviceName);
  const deps = { ...given, selfAudit, cookie, page: await loadPageFiles() };
  showReadiness(given.readiness);
  const router = createRouter(guardEndpoints(endpointTable(deps), deps));
  const server = await startHttpServer({ host, port, tls, trustProxy, router, log, accessLog });
  stops.add(() => server.close());
  const url = localUrl(host, server.port, tls !== undefined);
  const certificate = tls && (await watchCertificate(given, tls, server, url));
  await given.announce({ url, certificate });
  const { max: connectionsMax, perAddress } = server.connections;
  log.info({ host, port: server.port, connectionsMax, connectionsPerAddress: perAddress }, 'listening');
  return { server, url };
}

async function watchCertificate(
  { log, stops, announce }: HttpDeps,
  files: CertificateFiles,
  server: HttpServer,
  url: string,
): Promise<string> {
  const replace = ({ fingerprint }: CertificateFacts): void => {
    server.replaceCertificate();
    announce({ url, certificate: fingerprint }).catch((error: unknown) => {
      log.error(errorFacts(error), 'Could not store the fingerprint of the new certificate for commands');
    });
  };
  const watch = await CertificateWatch.start({ files, log, replace });
  stops.add(() => watch.stop());
  return watch.served.fingerprint;
}
