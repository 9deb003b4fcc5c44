import { AccessLog } from './access-log.ts';
import type { FrontEndDeps } from './deps.ts';
import { guardEndpoints } from './guard.ts';
import { loadPageFiles } from './page-files.ts';
import { createRouter } from './router.ts';
import { endpointTable } from './routes.ts';
import { type HttpServer, startHttpServer } from './server.ts';
import { SessionCookie } from './session-cookie.ts';
import { Trail } from './trail.ts';

/** Listens, and answers every endpoint of the table behind its guard. */
export async function startFrontEnd(front: FrontEndDeps): Promise<HttpServer> {
  const { config, log, clock, ingest, organizationOf, sharesPort, stops } = front;
  const { host, port, trustProxy } = config;
  const accessLog = new AccessLog({ destination: front.accessLogTo, clock, log });
  stops.add(() => accessLog.close());
  const trail = new Trail({ ...ingest, organizationOf, clock, log });
  stops.add(() => trail.stop());
  const cookie = new SessionCookie(config.serviceName);
  const deps = { ...front, trail, cookie, page: await loadPageFiles() };
  const router = createRouter(guardEndpoints(endpointTable(deps), deps));
  const server = await startHttpServer({ host, port, sharesPort, router, log, accessLog, trustProxy });
  stops.add(() => server.close());
  log.info({ host, port: server.port }, 'listening');
  return server;
}
