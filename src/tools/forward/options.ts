import { parseBytes } from '../../base/time/units.ts';
import type { EventSchema } from '../../client/client.ts';
import type { Environment } from '../context.ts';
import { httpAddress, wrong } from '../option.ts';
import { type S3Credentials, s3Credentials, s3Location, type S3Options } from '../s3.ts';
import { neededKey, readSecretFile } from '../secret.ts';
import { trustedFetch, type TrustOptions } from '../trusted-fetch.ts';
import type { FormatName } from './formats.ts';

const forwardFileBytesMin = 4096;

export interface ForwardOptions extends TrustOptions, S3Options {
  readonly url: string;
  readonly keyFile?: string;
  readonly to: Destination;
  readonly format: FormatName;
  readonly schema: EventSchema;
  readonly header?: readonly string[];
  readonly headerFile?: string;
  readonly gzip?: true;
  readonly label?: readonly string[];
  readonly rejectedTo?: string;
  readonly checkpoint?: string;
  readonly mode: ForwardMode;
  readonly interval?: number;
  readonly overlap: number;
  readonly batch: number;
  readonly once?: true;
  readonly rotateBytes?: number;
  readonly rotateKeep?: number;
  readonly timeout: number;
  readonly metricsInterval: number;
}

export type Destination =
  | { readonly kind: 'stream' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'http'; readonly url: URL }
  | { readonly kind: 'syslog'; readonly host: string; readonly port: number; readonly tls: boolean }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string };

export const eventSchemas = ['default', 'ocsf'] as const satisfies readonly EventSchema[];
export const forwardModes = ['auto', 'feed', 'pages'] as const;
export type ForwardMode = (typeof forwardModes)[number];

export interface ForwardSecrets {
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly s3Credentials: S3Credentials | undefined;
  /** PEM text of the certificates to trust at the destination. */
  readonly sinkCa: string | undefined;
  /** With the certificate options of the source. */
  readonly fetch: typeof fetch;
}

export function destination(text: string, name: string): Destination {
  if (text === '-') return { kind: 'stream' };
  if (text.startsWith('file:')) {
    // Accepts file:path and file:///path.
    const path = text.slice('file:'.length).replace(/^\/\/(?=\/)/, '');
    if (path === '' || path.includes('\0')) throw wrong(name, 'file: needs a path');
    return { kind: 'file', path };
  }
  if (/^syslog\+(tcp|tls):/.test(text)) return syslogDestination(text, name);
  if (text.startsWith('s3:')) return { kind: 's3', ...s3Location(text, name) };
  if (!/^https?:/i.test(text))
    throw wrong(
      name,
      '-, file:PATH, an http(s) address, syslog+tcp://HOST, syslog+tls://HOST or s3://BUCKET',
    );
  return { kind: 'http', url: httpAddress(text, name) };
}

/** Registered ports: 601 for syslog over TCP (RFC 3195), 6514 over TLS (RFC 5425). */
function syslogDestination(text: string, name: string): Destination {
  const tls = text.startsWith('syslog+tls:');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    url.hostname === '' ||
    !['', '/'].includes(url.pathname + url.search + url.username)
  )
    throw wrong(name, 'syslog+tcp://HOST:PORT or syslog+tls://HOST:PORT');
  const port = url.port === '' ? (tls ? 6514 : 601) : Number(url.port);
  return { kind: 'syslog', host: url.hostname.replace(/^\[|\]$/g, ''), port, tls };
}

export function parseLabels({ label = [] }: ForwardOptions): Readonly<Record<string, string>> {
  return Object.fromEntries(
    label.map((text) => {
      const [, name, value] = /^([A-Za-z_][\w.]*)=(.+)$/s.exec(text) ?? [];
      if (name === undefined || value === undefined) throw wrong('--label', 'name=value');
      return [name, value];
    }),
  );
}

/** Throws Problem `malformed` if an option does not fit the destination. */
export function checkCombination(options: ForwardOptions): void {
  const { to, format } = options;
  const isLinesOnly = to.kind === 's3' || to.kind === 'syslog';
  if (isLinesOnly && format !== 'ndjson') throw wrong('--format', `ndjson with ${to.kind}`);
  const isHttp = to.kind === 'http';
  const isFile = to.kind === 'file';
  const isS3 = to.kind === 's3';
  const rows: readonly (readonly [name: string, given: unknown, isMeant: boolean, forWhat: string])[] = [
    ['--header', options.header, isHttp, 'an http(s) destination'],
    ['--header-file', options.headerFile, isHttp, 'an http(s) destination'],
    ['--rejected-to', options.rejectedTo, isHttp, 'an http(s) destination'],
    ['--gzip', options.gzip, isHttp || isS3, 'an http(s) destination or s3'],
    [
      '--label',
      options.label,
      isHttp && (format === 'loki' || format === 'otlp'),
      '--format loki or otlp to an http(s) destination',
    ],
    ['--s3-endpoint', options.s3Endpoint, isS3, 's3'],
    ['--s3-region', options.s3Region, isS3, 's3'],
    ['--rotate-bytes', options.rotateBytes, isFile, 'file'],
    [
      '--rotate-keep',
      options.rotateKeep,
      isFile && options.rotateBytes !== undefined,
      'file with --rotate-bytes',
    ],
  ];
  for (const [name, given, isMeant, forWhat] of rows)
    if (given !== undefined && !isMeant) throw wrong(name, `only for ${forWhat}`);
}

export function rotationBytes(text: string, name: string): number {
  const bytes = parseBytes(text) ?? 0;
  if (bytes < forwardFileBytesMin) throw wrong(name, `a size such as 64MiB, at least ${forwardFileBytesMin}`);
  return bytes;
}

/** Key and headers. Rejects with Problem `malformed` naming the option. */
export async function readSecrets(
  options: ForwardOptions,
  environment: Environment,
): Promise<ForwardSecrets> {
  return {
    apiKey: await neededKey(options, environment),
    headers: await readHeaders(options, environment),
    s3Credentials: options.to.kind === 's3' ? s3Credentials(environment) : undefined,
    sinkCa: options.ca === undefined ? undefined : await readSecretFile('--ca', options.ca),
    fetch: await trustedFetch(options),
  };
}

async function readHeaders(
  { header = [], headerFile }: ForwardOptions,
  environment: Environment,
): Promise<Readonly<Record<string, string>>> {
  const text = headerFile === undefined ? '' : await readSecretFile('--header-file', headerFile);
  const lines = text.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries([
    ...lines.map((line) => parseHeader('--header-file', line, undefined)),
    ...header.map((line) => parseHeader('--header', line, environment)),
  ]);
}

/** `Name: value`; `${VARIABLE}` comes from the environment. Errors never quote values. */
function parseHeader(option: string, line: string, environment: Environment | undefined): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw wrong(option, "'Name: value'");
  const filled = value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, variable: string) => {
    if (environment === undefined) return whole;
    const value = environment[variable];
    if (value === undefined) throw wrong(option, `the variable ${variable} is not set`);
    return value;
  });
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(filled))
    throw wrong(option, `the value of ${name} has a character that headers must not contain`);
  return [name.toLowerCase(), filled];
}
