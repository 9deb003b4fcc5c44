import type { MappingDefinition } from '../adapters/definition.ts';
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

/** Paths of PEM files, which are read again when they change. */
export interface CertificateFiles {
  /** The certificate with its chain, and its key. */
  readonly pem: string;
  /** Undefined: clients need no certificate. */
  readonly clientCa: string | undefined;
}

/** The part of the configuration that requests are answered by. */
interface HttpConfig {
  readonly host: string;
  readonly port: number;
  /** Undefined: plain HTTP. */
  readonly tls: CertificateFiles | undefined;
  readonly deployment: 'cloud' | 'self-hosted';
  readonly tenantDomain: string | undefined;
  readonly publicUrl: string | undefined;
  readonly trustProxy: number;
  /** Undefined: half of what there may be, or behind a proxy all. */
  readonly serviceName: string;
  readonly sessionTtlMs: number;
  /** Undefined: no limit of that class. */
  readonly rateLimits: Readonly<Record<RateClass, Rate | undefined>>;
  /** The service's default; undefined: events are kept for ever. */
  readonly retentionDays: number | undefined;
  readonly maxBodyBytes: number;
  /** Own mappings, beside the built-in ones. */
  readonly mappings: readonly MappingDefinition[];
  readonly metricsPublic: boolean;
}

/** What readiness depends on. */
interface Readiness {
  engineReachable(): Promise<boolean>;
  engineTakesWrites(): Promise<boolean>;
  /** Undefined while the log takes writes. */
  logFailure(): string | undefined;
  /** Whether users, keys and settings can be changed. */
  controlDataTakesWrites(): Promise<boolean>;
  /** Undefined where nothing is shared: told, as is what follows, but nothing that keeps the service from answering. */
  limitsShared(): boolean | undefined;
  /** What is known to be damaged. */
  damage(): readonly Schemas['Damage'][];
}

/** What requests are answered with. */
export interface HttpDeps {
  readonly config: HttpConfig;
  readonly log: Logger;
  readonly clock: Clock;
  /** Where access-log lines go: a file descriptor or a path. */
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
  /** Of OpenID Connect, by which people sign in, and the sign-ins that have begun there. */
  readonly providers: Providers;
  readonly attempts: Attempts;
  readonly readiness: Readiness;
  /** Told of the SHA-256 of each certificate that is served from now on. */
  readonly onCertificate: (fingerprint: string) => Promise<void>;
  readonly stops: StopStack;
}

/** The same with what `serve` makes itself. An endpoint names the members that it needs. */
export interface EndpointDeps extends HttpDeps {
  readonly cookie: SessionCookie;
  readonly selfAudit: SelfAudit;
  /** The web page; without it `/` says how it is made. */
  readonly page: PageFiles;
}
