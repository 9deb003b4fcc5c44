import type { MappingDefinition } from '../adapters/definition.ts';
import type { ServerAddress } from '../base/files/server-file.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Logger } from '../base/observability/log.ts';
import type { Rate, RateCounter } from '../base/time/rates.ts';
import type { StopStack } from '../base/processes/stop-stack.ts';
import type { Schemas } from '../contract/document.ts';
import type { Directory } from '../control/directory.ts';
import type { KeyUses } from '../control/key-uses.ts';
import type { PasswordLinks } from '../control/password-links.ts';
import type { PasswordThrottle } from '../control/password-throttle.ts';
import type { RetentionPreview } from '../control/retention-preview.ts';
import type { Sessions } from '../control/sessions.ts';
import type { Ingest } from '../ingest/ingest.ts';
import type { Readers } from '../read/readers.ts';
import type { OrganizationLookup } from './authenticate.ts';
import type { RateClass } from './endpoint.ts';
import type { EvidenceReader } from '../evidence/evidence-reader.ts';
import type { Attempts } from '../sign-on/attempt.ts';
import type { Providers } from '../sign-on/providers.ts';
import type { PageFiles } from './routes/page.ts';
import type { SessionCookie } from './session-cookie.ts';
import type { SelfAudit } from './self-audit.ts';

export interface CertificateFiles {
  readonly pem: string;
  /** Undefined: clients need no certificate. */
  readonly clientCa: string | undefined;
}

interface HttpConfig {
  readonly host: string;
  readonly port: number;
  readonly tls: CertificateFiles | undefined;
  readonly deployment: 'cloud' | 'self-hosted';
  readonly tenantDomain: string | undefined;
  readonly publicUrl: string | undefined;
  readonly trustProxy: number;
  /** Undefined: half of the maximum, or all behind a proxy. */
  readonly serviceName: string;
  readonly sessionTtlMs: number;
  /** Undefined: no limit of that class. */
  readonly rateLimits: Readonly<Record<RateClass, Rate | undefined>>;
  /** The service's default; undefined: events do not expire. */
  readonly retentionDays: number | undefined;
  readonly maxBodyBytes: number;
  readonly mappings: readonly MappingDefinition[];
  readonly metricsPublic: boolean;
}

interface Readiness {
  engineReachable(): Promise<boolean>;
  engineTakesWrites(): Promise<boolean>;
  logFailure(): string | undefined;
  controlDataTakesWrites(): Promise<boolean>;
  /** Undefined if no Redis is configured. This and the following are reported, but do not fail readiness. */
  limitsShared(): boolean | undefined;
  damage(): readonly Schemas['Damage'][];
}

export interface HttpDeps {
  readonly config: HttpConfig;
  readonly log: Logger;
  readonly clock: Clock;
  readonly accessLogTo: number | string;
  readonly ingest: Pick<Ingest, 'accept' | 'recordOwn' | 'logFailure'>;
  readonly read: Readers;
  readonly evidence: EvidenceReader;
  readonly directory: Directory;
  readonly retention: RetentionPreview;
  readonly organizationOf: OrganizationLookup;
  readonly sessions: Sessions;
  readonly keyUses: KeyUses;
  readonly rateCounter: RateCounter;
  readonly passwords: PasswordThrottle;
  readonly passwordLinks: PasswordLinks;
  readonly providers: Providers;
  readonly attempts: Attempts;
  readonly readiness: Readiness;
  /** Publishes the server's address for commands, and the SHA-256 of each newly served certificate. */
  readonly announce: (address: ServerAddress) => Promise<void>;
  readonly stops: StopStack;
}

/** An endpoint names the members that it needs. */
export interface EndpointDeps extends HttpDeps {
  readonly cookie: SessionCookie;
  readonly selfAudit: SelfAudit;
  /** The web page; without it `/` explains how to build it. */
  readonly page: PageFiles;
}
