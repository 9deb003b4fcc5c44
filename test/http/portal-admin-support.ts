import { DamageRegister } from '../../src/base/observability/damage.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { createApiKey, type IssuedKey } from '../../src/control/api-keys.ts';
import type { Directory } from '../../src/control/directory.ts';
import { IngestDirectory } from '../../src/control/ingest-directory.ts';
import { createOrganization, type Organization } from '../../src/control/organizations.ts';
import { KeyUses } from '../../src/control/key-uses.ts';
import { PasswordLinks } from '../../src/control/password-links.ts';
import { PasswordThrottle } from '../../src/control/password-throttle.ts';
import { hashPassword } from '../../src/control/passwords.ts';
import { RetentionPreview } from '../../src/control/retention-preview.ts';
import { Sessions } from '../../src/control/sessions.ts';
import { createUser, type Role, type User } from '../../src/control/users.ts';
import type { EndpointDeps } from '../../src/http/deps.ts';
import { RateLimiter } from '../../src/http/rate-limit.ts';
import { guardEndpoints } from '../../src/http/guard.ts';
import { endpointTable } from '../../src/http/routes.ts';
import { SessionCookie } from '../../src/http/session-cookie.ts';
import { SelfAudit } from '../../src/http/self-audit.ts';
import type { SegmentSink } from '../../src/base/events/segment-insert.ts';
import { type Ingest, openIngest } from '../../src/ingest/ingest.ts';
import type { Base } from '../../src/service/base.ts';
import { handChanges, startDirectory } from '../../src/service/changes.ts';
import { StopStack } from '../../src/base/processes/stop-stack.ts';
import { createSegmentInsert } from '../../src/storage/insert.ts';
import type { ServiceStorage } from '../../src/storage/open-storage.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { builtWorker } from '../support/cli-command.ts';
import { operatorCall } from '../support/control.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { silentLog, startTestEngine, type TestEngine } from '../support/engine.ts';
import { call, type HttpAnswer } from '../support/http.ts';
import { startTestServer } from './support.ts';

export const password = 'correct horse battery';
let passwordHash: string | undefined;
const retentionDays = 365;

/** A stored event: source and rendering. */
export interface StoredEvent {
  readonly source: {
    readonly level: string;
    readonly msg: string;
    readonly message: Readonly<Record<string, unknown>> & {
      readonly action: number;
      readonly actor: Readonly<Record<string, unknown>>;
      readonly flow_id: string;
    };
  };
  readonly ocsf: string;
}

/** A real engine, log, directory and server with the guarded endpoints of the portal. */
export interface PortalWorld {
  readonly storage: Storage;
  readonly engine: TestEngine;
  readonly directory: Directory;
  readonly keyUses: KeyUses;
  readonly ingest: Ingest;
  readonly selfAudit: SelfAudit;
  readonly url: string;
  /** Advances the clock by which password links expire. */
  setLinksLater(ms: number): void;
  /** While set, segments do not reach the engine. */
  holdEngine(held: boolean): void;
  addOrganization(slug: string): Promise<Organization>;
  addUser(organization: Organization, email: string, role?: Role): Promise<User>;
  addKey(input: Parameters<typeof createApiKey>[0]): Promise<IssuedKey>;
  /** The Cookie header of a new session. */
  cookieOf(user: User, organization: Organization): Promise<string>;
  get(path: string, cookie: string): Promise<HttpAnswer>;
  send(method: string, path: string, cookie: string, body?: unknown): Promise<HttpAnswer>;
  /** Stored events of an organization in the order of ingest, without the test's own. */
  events(organization: Organization): Promise<StoredEvent[]>;
  stop(): Promise<void>;
}

export async function startPortalWorld(walBytesMax = 64 * 1024 * 1024): Promise<PortalWorld> {
  const engine = await startTestEngine();
  const { storage } = engine;
  const dataDir = await temporaryDirectory();
  const stops = new StopStack(silentLog);
  const base = {
    config: { dataDir },
    log: silentLog,
    stops,
    steadyMs: Date.now,
    damage: new DamageRegister(),
  } as unknown as Base;
  const stored = { storage, instance: undefined } as unknown as ServiceStorage;
  const control = await startDirectory(base, stored, systemClock);
  const { directory, changes } = control;
  const organizations = new IngestDirectory(directory, retentionDays);
  const insert = createSegmentInsert(storage, silentLog);
  let held = false;
  const sink: SegmentSink = (segment) =>
    held ? Promise.reject(new Error('held back by the test')) : insert(segment);
  const ingest = await openIngest({
    dataDir,
    log: silentLog,
    workers: 1,
    appName: 'Test',
    workerFile: builtWorker,
    redactKeys: [],
    bodyBytesMax: 1024 * 1024,
    flushIntervalMs: 20,
    segmentBytes: 64 * 1024,
    walBytesMax,
    sink,
    damage: new DamageRegister(),
    directory: () => organizations.shared(),
  });
  await handChanges(base, control, organizations, ingest);
  const organizationOf = (id: string) => organizations.organization(id);
  const selfAudit = new SelfAudit({
    recordOwn: ingest.recordOwn,
    organizationOf,
    clock: systemClock,
    log: silentLog,
    logFailure: ingest.logFailure,
  });
  const secret = 's'.repeat(32);
  let laterMicros = 0;
  const cookie = new SessionCookie('service');
  const sessions = new Sessions({ secret, ttlMs: 3_600_000, clock: systemClock, directory });
  const keyUses = new KeyUses({ storage, clock: systemClock, log: silentLog });
  // Dependencies of other endpoints are missing: no test of the portal calls these.
  const deps = {
    read: {},
    readiness: {},
    ingest,
    sessions,
    retention: new RetentionPreview({ storage, directory, clock: systemClock, defaultDays: retentionDays }),
    organizationOf,
    selfAudit,
    directory,
    cookie,
    keyUses,
    rateCounter: new RateLimiter(() => performance.now()),
    passwords: new PasswordThrottle(),
    passwordLinks: new PasswordLinks({ secret, clock: () => systemClock() + laterMicros, directory }),
    clock: systemClock,
    config: {
      rateLimits: {
        audit: { requests: 300, windowMs: 15_000 },
        ingest: { requests: 200, windowMs: 15_000 },
      },
      retentionDays,
    },
  } as unknown as EndpointDeps;
  const routes = guardEndpoints(endpointTable(deps), deps);
  const server = await startTestServer(routes);
  const headers = (cookieText: string) => ({ cookie: cookieText, 'content-type': 'application/json' });
  return {
    storage,
    engine,
    directory,
    keyUses,
    ingest,
    selfAudit,
    url: server.url,
    setLinksLater(ms) {
      laterMicros = ms * 1000;
    },
    holdEngine(now) {
      held = now;
    },
    addOrganization: (slug) =>
      directory.change(operatorCall, createOrganization({ slug, name: slug.toUpperCase() })),
    async addUser({ id }, email, role = 'admin') {
      passwordHash ??= await hashPassword(password);
      const input = { organization: id, email, name: email, role, passwordHash };
      return directory.change(operatorCall, createUser(input));
    },
    addKey: (input) => directory.change(operatorCall, createApiKey(input)),
    async cookieOf(user, organization) {
      return `service=${(await sessions.issue(user, organization)).token}`;
    },
    get: (path, cookieText) => call(`${server.url}${path}`, { headers: headers(cookieText) }),
    send: (method, path, cookieText, body = {}) =>
      call(`${server.url}${path}`, {
        method,
        headers: headers(cookieText),
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async events({ id }) {
      await changes.settled();
      if (!(await ingest.flush(10_000))) throw new Error('the log was not flushed in time');
      const rows = await storage.rows<{ source: string; ocsf: string }>(
        'SELECT source, ocsf FROM events WHERE org = {id:UUID} ORDER BY seq',
        { id },
      );
      const events = rows.map(({ source, ocsf }): StoredEvent => ({ source: JSON.parse(source), ocsf }));
      const { name } = operatorCall.actor;
      return events.filter(({ source: { message } }) => message.actor?.['name'] !== name);
    },
    async stop() {
      held = false;
      await server.close();
      await selfAudit.stop();
      await stops.run();
      await ingest.close();
      await engine.stop();
      await removeDirectory(dataDir);
    },
  };
}
