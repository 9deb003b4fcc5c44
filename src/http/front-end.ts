import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Rate } from '../base/rates.ts';
import type { StopStack } from '../base/stop-stack.ts';
import type { Administration } from '../control/administration.ts';
import type { Directory } from '../control/directory.ts';
import type { PasswordThrottle } from '../control/password-throttle.ts';
import type { Sessions } from '../control/sessions.ts';
import type { Ingest } from '../ingest/ingest.ts';
import type { Readers } from '../read/readers.ts';
import { AccessLog } from './access-log.ts';
import type { OrganizationLookup } from './authenticate.ts';
import type { RateClass } from './endpoint.ts';
import { guardEndpoints } from './guard.ts';
import { createRouter } from './router.ts';
import { loadPageFiles } from './page-files.ts';
import type { Readiness } from './routes/ready.ts';
import { endpointTable } from './routes.ts';
import { type HttpServer, startHttpServer } from './server.ts';
import { SessionCookie } from './session-cookie.ts';
import { Trail } from './trail.ts';

/** The part of the configuration that requests are answered by. */
interface FrontEndConfig {
  readonly host: string;
  readonly port: number;
  readonly deployment: 'cloud' | 'self-hosted';
  readonly tenantDomain: string | undefined;
  readonly trustProxy: number;
  readonly serviceName: string;
  readonly rateLimits: Readonly<Record<RateClass, Rate | undefined>>;
  readonly retentionDays: number | undefined;
  readonly maxBodyBytes: number;
  readonly metricsPublic: boolean;
}

/** What requests are answered with. */
export interface FrontEndDeps {
  readonly config: FrontEndConfig;
  readonly log: Logger;
  readonly clock: Clock;
  /** Where access-log lines go: a file descriptor or a path. */
  readonly accessLogTo: number | string;
  readonly ingest: Pick<Ingest, 'accept' | 'logFailure'>;
  readonly read: Readers;
  readonly directory: Directory;
  readonly organizationOf: OrganizationLookup;
  readonly sessions: Sessions;
  readonly administration: Administration;
  readonly passwords: PasswordThrottle;
  readonly readiness: Readiness;
  readonly stops: StopStack;
}

/** Listens, and answers every endpoint of the table behind its guard. */
export async function startFrontEnd(deps: FrontEndDeps): Promise<HttpServer> {
  const { config, log, clock, ingest, stops } = deps;
  const { tenantDomain, trustProxy } = config;
  const accessLog = new AccessLog({ destination: deps.accessLogTo, clock, log });
  stops.add(() => accessLog.close());
  const trail = new Trail({
    accept: ingest.accept,
    logFailure: ingest.logFailure,
    organizationOf: deps.organizationOf,
    clock,
    log,
  });
  stops.add(() => trail.stop());
  const cookie = new SessionCookie(config.serviceName);
  const endpoints = endpointTable({
    ...deps,
    accept: ingest.accept,
    cookie,
    trail,
    tenantDomain,
    retentionDays: config.retentionDays,
    rateMax: config.rateLimits.audit,
    bodyBytesMax: config.maxBodyBytes,
    selfHosted: config.deployment === 'self-hosted',
    metricsPublic: config.metricsPublic,
    trustProxy,
    page: await loadPageFiles(),
  });
  const routes = guardEndpoints(endpoints, {
    directory: deps.directory,
    clock,
    sessions: deps.sessions,
    cookie,
    rates: config.rateLimits,
    tenantDomain,
  });
  const server = await startHttpServer({
    host: config.host,
    port: config.port,
    router: createRouter(routes),
    log,
    accessLog,
    trustProxy,
  });
  stops.add(() => server.close());
  log.info({ host: config.host, port: server.port }, 'listening');
  return server;
}
