import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { messageOf } from '../base/errors/system-error.ts';
import { certificateFacts } from '../base/network/certificate.ts';
import type { Environment } from './env.ts';
import { type Values, type Variable, variables } from './variables.ts';

/** Read once and frozen. */
export type Config = ReturnType<typeof loadConfig>;

/** A line for each bad variable; exit code 2. */
export class ConfigError extends Error {
  constructor(lines: readonly string[]) {
    super(lines.join('\n'));
    this.name = 'ConfigError';
  }
}

const segmentBytesDefault = 64 * 1024 ** 2;
const shownCharactersMax = 100;

function complaint(name: string, variable: Variable<unknown>, text: string): string {
  const shown = text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text;
  const value = variable.shownValue(text)
    ? `is ${JSON.stringify(shown)}`
    : 'has a value that is not shown here';
  const wrong = variable.kind.wrongIn?.(text) ?? '';
  return `${name} ${value}${wrong === '' ? '' : ` (${wrong})`}: allowed is ${variable.kind.allowed}`;
}

function readValues(environment: Environment): Values {
  const values: Record<string, unknown> = {};
  const complaints: string[] = [];
  for (const [name, variable] of Object.entries<Variable<unknown>>(variables)) {
    const given = environment[name];
    // An empty variable counts as unset: container tools pass `NAME=` for what was left out.
    const text = given === undefined || given === '' ? variable.fallback : given;
    if (text === undefined) continue;
    const parsed = variable.kind.parse(text);
    if (parsed === undefined) complaints.push(complaint(name, variable, text));
    else values[name] = parsed.value;
  }
  if (complaints.length > 0) throw new ConfigError(complaints);
  return values as Values;
}

/** A segment must fit into the log, and shrinks with a small log. */
function segmentBytes(values: Values): number {
  const { SEGMENT_BYTES: segment, WAL_MAX_BYTES: log } = values;
  if (segment === undefined) return Math.min(segmentBytesDefault, Math.max(1, Math.floor(log / 4)));
  if (segment <= log) return segment;
  throw new ConfigError([
    `SEGMENT_BYTES is "${segment}": allowed is at most WAL_MAX_BYTES, which is ${log} bytes`,
  ]);
}

/** Paths of PEM files, which are read again when they change. */
export interface TlsConfig {
  readonly pem: string;
  readonly clientCa: string | undefined;
}

function serverTls(values: Values): TlsConfig | undefined {
  const { TLS_CERT: own, TLS_CLIENT_CA: clientCa } = values;
  if (own === undefined) {
    if (clientCa === undefined) return undefined;
    throw new ConfigError(['TLS_CLIENT_CA is set: allowed is that with TLS_CERT alone']);
  }
  try {
    certificateFacts({ pem: own.text, clientCa: clientCa?.text });
  } catch (error) {
    throw new ConfigError([`TLS_CERT is ${JSON.stringify(own.path)}: ${messageOf(error)}`]);
  }
  return Object.freeze({ pem: own.path, clientCa: clientCa?.path });
}

function clickhouseConfig(values: Values) {
  const { CLICKHOUSE_URL: urls, CLICKHOUSE_CLUSTER: cluster } = values;
  if (cluster !== undefined && urls === undefined)
    throw new ConfigError([
      `CLICKHOUSE_CLUSTER is "${cluster}": allowed is that with a CLICKHOUSE_URL alone`,
    ]);
  return Object.freeze({
    /** Undefined: the embedded engine. */
    url: urls?.[0],
    otherUrls: Object.freeze(urls?.slice(1) ?? []),
    user: values.CLICKHOUSE_USER,
    password: values.CLICKHOUSE_PASSWORD,
    database: values.CLICKHOUSE_DATABASE,
    cluster,
  });
}

function rateLimits(values: Values) {
  return Object.freeze({
    tenant: values.RATE_LIMIT_TENANT,
    audit: values.RATE_LIMIT_AUDIT,
    ingest: values.RATE_LIMIT_INGEST,
    login: values.RATE_LIMIT_LOGIN,
  });
}

/**
 * Unset and empty variables take their defaults; unknown ones are ignored. Throws ConfigError naming each bad
 * variable, its value (secrets excepted) and what is allowed.
 */
export function loadConfig(environment: Environment) {
  const values = readValues(environment);
  return Object.freeze({
    host: values.HOST,
    port: values.PORT,
    tls: serverTls(values),
    dataDir: resolve(values.DATA_DIR),
    clickhouse: clickhouseConfig(values),
    deployment: values.DEPLOYMENT,
    tenantDomain: values.TENANT_DOMAIN,
    /** Undefined: only browsers on this machine can return from a provider, unless a tenant domain is set. */
    publicUrl: values.PUBLIC_URL,
    trustProxy: values.TRUST_PROXY,
    serviceName: values.SERVICE_NAME,
    vendorName: values.VENDOR_NAME,
    productName: values.PRODUCT_NAME,
    appName: values.APP_NAME,
    /** Undefined: generated, see `sessionSecret` and `pseudonymSecret`. */
    sessionSecret: values.SESSION_SECRET,
    pseudonymSecret: values.PSEUDONYM_SECRET,
    sessionTtlMs: values.SESSION_TTL,
    /** Undefined: no provider for the whole service. */
    oidc: values.OIDC_PROVIDER,
    rateLimits: rateLimits(values),
    /** Undefined: each server counts alone. */
    redisUrl: values.REDIS_URL,
    /** Undefined: kept for ever, unless the organization has a retention. */
    retentionDays: values.RETENTION,
    maxBodyBytes: values.MAX_BODY_BYTES,
    flushIntervalMs: values.FLUSH_INTERVAL,
    segmentBytes: segmentBytes(values),
    walMaxBytes: values.WAL_MAX_BYTES,
    workers: values.WORKERS ?? Math.max(1, availableParallelism() - 1),
    logLevel: values.LOG_LEVEL,
    metricsPublic: values.METRICS_PUBLIC,
    /** Without a slash at the end; undefined: no traces. */
    tracesUrl: values.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, ''),
    /** Undefined: the key in the data directory (`evidenceKeys`). */
    evidenceKey: values.EVIDENCE_KEY,
    mappings: values.MAPPINGS_DIR ?? [],
    redactKeys: Object.freeze(values.REDACT_KEYS ?? []),
    redactValues: values.REDACT_VALUES,
  });
}
