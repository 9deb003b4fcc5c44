import { limits } from '../base/limits.ts';
import { logLevels } from '../base/observability/log.ts';
import {
  bytes,
  certificateAndKeyFile,
  certificateFile,
  domain,
  duration,
  host,
  httpUrl,
  httpUrls,
  integer,
  type Kind,
  kind,
  mapped,
  oidcProvider,
  oneOf,
  orOff,
  pattern,
  publicUrl,
  rate,
  redisUrl,
  secretNames,
  watched,
} from './kinds.ts';
import { mappingsDirectory } from './mappings.ts';

export interface Variable<T> {
  readonly kind: Kind<T>;
  readonly meaning: string;
  readonly fallback: string | undefined;
  readonly shownDefault: string;
  readonly shownValue: (text: string) => boolean;
}

const GiB = 1024 ** 3;
const dayMs = 86_400_000;

function setting<T>(fallback: string, meaning: string, kind: Kind<T>): Variable<T> {
  return { kind, meaning, fallback, shownDefault: fallback, shownValue: () => true };
}

function optional<T>(shownDefault: string, meaning: string, kind: Kind<T>): Variable<T | undefined> {
  return { kind, meaning, fallback: undefined, shownDefault, shownValue: () => true };
}

const secret = <T>(variable: Variable<T>): Variable<T> => ({ ...variable, shownValue: () => false });

/** A URL with credentials is refused, and must not reach a log. */
const hasNoCredentials = (text: string): boolean => !text.includes('@') && !text.includes('?');

const fixedText = pattern(
  /^[^\p{Cc}\p{Cs}]{1,200}$/u,
  'a text of 1 to 200 characters without control characters',
);
const anyText = kind('any text', (text) => text);
const sessionKey = kind('a text of at least 32 bytes', (text) =>
  Buffer.byteLength(text) >= 32 ? text : undefined,
);
const noteKey = pattern(
  /^PRIVATE\+KEY\+[^+\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/,
  'a key in the form of DATA_DIR/evidence-key: PRIVATE+KEY+name+id+key',
);
const directory = kind('a directory', (text) => (text.includes('\0') ? undefined : text));
/** Expiry counts whole days. */
const retention = mapped(duration(1, 36_500 * dayMs), (ms) => Math.ceil(ms / dayMs));

/** Validation, defaults and help follow from this table, in its order. */
export const variables = {
  HOST: setting('127.0.0.1', 'address to listen on', host),
  PORT: setting('8080', 'port to listen on; 0 takes any free port', integer(0, 65_535)),
  TLS_CERT: optional(
    'unset: HTTP without TLS',
    'file with the server certificate, its chain and its private key',
    watched(certificateAndKeyFile),
  ),
  TLS_CLIENT_CA: optional(
    'unset: no client certificates',
    'file with the CAs of client certificates; requests with an API key then require one',
    watched(certificateFile),
  ),
  DATA_DIR: setting(
    './data',
    'directory of the embedded engine, write-ahead log and generated secrets',
    directory,
  ),
  CLICKHOUSE_URL: {
    ...optional(
      'unset: the embedded engine',
      'URL of a ClickHouse server, or of several nodes, separated by commas; the next one is used if one does not answer',
      httpUrls(16),
    ),
    shownValue: hasNoCredentials,
  },
  CLICKHOUSE_USER: setting('default', 'user on that server', fixedText),
  CLICKHOUSE_PASSWORD: secret({ ...setting('', 'password of that user', anyText), shownDefault: 'empty' }),
  CLICKHOUSE_DATABASE: setting(
    'audit',
    'database of every table',
    pattern(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/, 'letters, digits and _, not beginning with a digit'),
  ),
  CLICKHOUSE_CLUSTER: optional(
    'unset',
    'cluster name: replicated and distributed tables, DDL ON CLUSTER',
    pattern(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$/, 'letters, digits, _, . and -'),
  ),
  DEPLOYMENT: setting(
    'cloud',
    'self-hosted disables the organization-events endpoint',
    oneOf(['cloud', 'self-hosted']),
  ),
  TENANT_DOMAIN: optional(
    'unset: any host',
    'each organization has the host <slug>.<this domain>; if unset, the session determines the organization',
    domain,
  ),
  PUBLIC_URL: {
    ...optional(
      'unset: only browsers on this machine can sign in with a provider',
      'URL of the service for browsers, for the callback of a provider; not needed with TENANT_DOMAIN',
      publicUrl,
    ),
    shownValue: hasNoCredentials,
  },
  TRUST_PROXY: setting('0', 'number of trusted proxies, for X-Forwarded-For', integer(0, 16)),
  SERVICE_NAME: setting(
    'service',
    'name of the session cookie, in lower case',
    mapped(pattern(/^[A-Za-z0-9_-]{1,64}$/, 'up to 64 letters, digits, _ and -'), (name) =>
      name.toLowerCase(),
    ),
  ),
  VENDOR_NAME: setting('Audit Log Service', 'vendor named in audit events', fixedText),
  PRODUCT_NAME: setting('Audit Log Service', 'product named in audit events', fixedText),
  APP_NAME: setting('Audit Log Service', 'application named in audit events', fixedText),
  SESSION_SECRET: secret(optional('generated into DATA_DIR', 'key that signs sessions', sessionKey)),
  PSEUDONYM_SECRET: secret(
    optional('generated into DATA_DIR', 'key for pseudonyms of erased persons', sessionKey),
  ),
  SESSION_TTL: setting('12h', 'lifetime of a session', duration(1000, 400 * dayMs)),
  OIDC_PROVIDER: {
    ...optional(
      'unset: only providers of organizations',
      'OpenID Connect provider for users of organizations without their own provider',
      oidcProvider,
    ),
    shownValue: hasNoCredentials,
  },
  RATE_LIMIT_TENANT: setting('30/15s', 'requests per client on tenant endpoints', orOff(rate)),
  RATE_LIMIT_AUDIT: setting('300/15s', 'requests per client on the audit endpoints', orOff(rate)),
  RATE_LIMIT_INGEST: setting('off', 'write requests per client', orOff(rate)),
  RATE_LIMIT_LOGIN: setting('10/60s', 'login attempts per client', orOff(rate)),
  REDIS_URL: {
    ...optional(
      'unset: each server counts alone',
      'Redis or Valkey server where servers share rate limits, counts of failed passwords and Idempotency-Keys',
      redisUrl,
    ),
    shownValue: hasNoCredentials,
  },
  RETENTION: setting(
    'off',
    'time until events expire, unless the organization sets its own; whole days, rounded up',
    orOff(retention),
  ),
  MAX_BODY_BYTES: setting(
    '33554432',
    'largest request body after decompression',
    bytes(1, limits.bodiesInFlightBytesMax),
  ),
  FLUSH_INTERVAL: setting('500ms', 'longest time until events are readable', duration(1, 60_000)),
  SEGMENT_BYTES: optional(
    '64 MiB',
    'size at which a segment of the write-ahead log is sent to the engine; the default is at most a quarter of WAL_MAX_BYTES',
    bytes(4096, GiB),
  ),
  WAL_MAX_BYTES: setting(
    '8 GiB',
    'size of the write-ahead log at which writes are refused',
    bytes(4096, 1024 ** 2 * GiB),
  ),
  WORKERS: optional('cores - 1, at least 1', 'ingest threads', integer(1, 256)),
  LOG_LEVEL: setting('info', 'level of the operational log on standard error', oneOf(logLevels)),
  METRICS_PUBLIC: setting(
    '0',
    '1 allows GET /metrics from every address, 0 only from loopback without a proxy',
    mapped(oneOf(['0', '1']), (flag) => flag === '1'),
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    ...optional('unset: no traces', 'URL of a receiver of traces (OTLP over HTTP, JSON)', httpUrl),
    shownValue: hasNoCredentials,
  },
  EVIDENCE_KEY: secret(
    optional(
      'generated into DATA_DIR',
      'key that signs evidence; the same for all servers on an engine',
      noteKey,
    ),
  ),
  MAPPINGS_DIR: optional(
    'unset: only built-in mappings',
    'directory of custom mappings, NAME.json, for records of other programs with from=NAME',
    mappingsDirectory,
  ),
  REDACT_KEYS: optional(
    'none',
    'names of members whose values are never stored, separated by commas, in addition to the built-in names; !name keeps the values of a built-in name',
    secretNames(1000, 200),
  ),
  REDACT_VALUES: setting(
    'on',
    'on removes values in the form of secrets: JSON Web Tokens, AWS access keys, private keys, tokens of GitHub and Slack, API keys',
    mapped(oneOf(['on', 'off']), (word) => word === 'on'),
  ),
} as const;

type VariableName = keyof typeof variables;
export type Values = {
  [Name in VariableName]: (typeof variables)[Name] extends Variable<infer T> ? T : never;
};

export function variablesHelp(): string {
  const lines = Object.entries<Variable<unknown>>(variables).map(
    ([name, { meaning, shownDefault, kind }]) =>
      `  ${name.padEnd(20)} ${meaning} (default: ${shownDefault}; allowed: ${kind.allowed})`,
  );
  return ['Environment variables:', ...lines].join('\n');
}
