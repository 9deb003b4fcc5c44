import { readFile, stat } from 'node:fs/promises';
import { parseDurationMs } from '../../base/durations.ts';
import { limits } from '../limits.ts';
import { Problem } from '../../base/problem.ts';
import { parseBytes } from '../../base/sizes.ts';
import { parseRfc3339Micros } from '../../base/timestamp.ts';
import type { EventFilter } from '../../client/client.ts';
import { baseUrl } from '../../client/transport.ts';
import type { Environment } from '../../config/env.ts';
import { type FormatName, formatNames } from './formats.ts';

/** The options as the command line has them. */
export interface ForwardOptions {
  readonly url: string;
  readonly keyFile?: string;
  readonly to: string;
  readonly format: string;
  readonly header?: readonly string[];
  readonly headerFile?: string;
  readonly gzip?: true;
  readonly rejectedTo?: string;
  readonly checkpoint?: string;
  readonly mode: string;
  readonly interval?: string;
  readonly overlap: string;
  readonly batch: string;
  readonly once?: true;
  readonly rotateBytes?: string;
  readonly rotateKeep?: string;
  readonly timeout: string;
  readonly metricsInterval: string;
  readonly startTime?: string;
  readonly actor?: string;
  readonly userId?: string;
  readonly fileName?: string;
  readonly fileHash?: string;
  readonly flowId?: string;
}

export type Destination =
  | { readonly kind: 'stream' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'http'; readonly url: URL };

export type ForwardMode = 'auto' | 'feed' | 'pages';

export interface ForwardPlan {
  readonly url: string;
  readonly apiKey: string;
  readonly to: Destination;
  readonly format: FormatName;
  readonly headers: Readonly<Record<string, string>>;
  readonly gzip: boolean;
  readonly rejectedTo: string | undefined;
  readonly checkpoint: string | undefined;
  readonly mode: ForwardMode;
  readonly intervalMs: number | undefined;
  readonly overlapMs: number;
  readonly batchEvents: number;
  readonly once: boolean;
  readonly rotateBytes: number | undefined;
  readonly rotateKeep: number | undefined;
  readonly timeoutMs: number;
  readonly metricsMs: number;
  readonly filter: EventFilter;
}

const dayMs = 86_400_000;

function wrong(option: string, allowed: string): Problem {
  return new Problem('malformed', `${option}: ${allowed}`);
}

function duration(option: string, text: string, minMs: number, maxMs = 365 * dayMs): number {
  const ms = parseDurationMs(text) ?? -1;
  if (ms < minMs || ms > maxMs) throw wrong(option, 'a duration such as 500ms, 90s, 5m or 1h');
  return ms;
}

function integer(option: string, text: string, min: number, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (value < min || value > max) throw wrong(option, `a whole number from ${min} to ${max}`);
  return value;
}

function oneOf<T extends string>(option: string, text: string, names: readonly T[]): T {
  const name = names.find((one) => one === text);
  if (name === undefined) throw wrong(option, names.join(', '));
  return name;
}

function httpAddress(option: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw wrong(option, 'an http(s) address');
  if (url.username !== '' || url.password !== '')
    throw wrong(option, 'credentials do not belong into an address, which others can see; use a header');
  return url;
}

function destination(text: string): Destination {
  if (text === '-') return { kind: 'stream' };
  if (text.startsWith('file:')) {
    // Both file:path and file:///path, as people write them.
    const path = text.slice('file:'.length).replace(/^\/\/(?=\/)/, '');
    if (path === '' || path.includes('\0')) throw wrong('--to', 'file: needs a path');
    return { kind: 'file', path };
  }
  if (!/^https?:/i.test(text)) throw wrong('--to', '-, file:PATH or an http(s) address');
  return { kind: 'http', url: httpAddress('--to', text) };
}

/** A secret or headers from a file that others should not be able to read; the text is trimmed. */
async function smallFile(option: string, path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size <= limits.forwardHeaderFileBytesMax) return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    throw wrong(option, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`);
  }
  throw wrong(option, `a file of at most ${limits.forwardHeaderFileBytesMax} bytes`);
}

async function apiKeyOf({ keyFile }: ForwardOptions, environment: Environment): Promise<string> {
  const key =
    keyFile === undefined ? (environment['AUDITLOG_API_KEY'] ?? '') : await smallFile('--key-file', keyFile);
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new Problem('malformed', 'an API key with scope read is needed in AUDITLOG_API_KEY or --key-file');
  return key;
}

/** `Name: value`; `${VARIABLE}` in the value of an option is taken from the environment. Values are never shown. */
function headerOf(option: string, line: string, environment: Environment | undefined): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw wrong(option, "'Name: value'");
  const filled = value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, variable: string) => {
    if (environment === undefined) return whole;
    const found = environment[variable];
    if (found === undefined) throw wrong(option, `the variable ${variable} is not set`);
    return found;
  });
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(filled))
    throw wrong(option, `the value of ${name} has a character that no header may have`);
  return [name.toLowerCase(), filled];
}

async function headersOf(
  { header = [], headerFile }: ForwardOptions,
  environment: Environment,
): Promise<Readonly<Record<string, string>>> {
  const text = headerFile === undefined ? '' : await smallFile('--header-file', headerFile);
  const lines = text.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries([
    ...lines.map((line) => headerOf('--header-file', line, undefined)),
    ...header.map((line) => headerOf('--header', line, environment)),
  ]);
}

function filterOf(options: ForwardOptions): EventFilter {
  const { startTime, actor, userId, fileName, fileHash, flowId } = options;
  // The server ignores what is not valid, and would then hand out everything.
  if (startTime !== undefined && parseRfc3339Micros(startTime) === undefined)
    throw wrong('--start-time', 'RFC 3339 with an offset, such as 2026-05-01T00:00:00Z');
  if (flowId !== undefined && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(flowId))
    throw wrong('--flow-id', 'a UUID');
  return { startTime, actor, userId, fileName, fileHash, flowId };
}

function sourceAddress(text: string): string {
  httpAddress('--url', text);
  return baseUrl(text).href;
}

/** What is to be done, checked before anything is. Rejects with Problem `malformed` naming the option. */
export async function forwardPlan(options: ForwardOptions, environment: Environment): Promise<ForwardPlan> {
  const to = destination(options.to);
  const rotateBytes = options.rotateBytes === undefined ? undefined : (parseBytes(options.rotateBytes) ?? 0);
  if (rotateBytes !== undefined && rotateBytes < limits.forwardFileBytesMin)
    throw wrong('--rotate-bytes', `a size such as 64MiB, at least ${limits.forwardFileBytesMin}`);
  const { rotateKeep, interval } = options;
  return {
    url: sourceAddress(options.url),
    apiKey: await apiKeyOf(options, environment),
    to,
    format: oneOf('--format', options.format, formatNames),
    headers: await headersOf(options, environment),
    gzip: options.gzip === true,
    rejectedTo: options.rejectedTo,
    checkpoint: options.checkpoint,
    mode: oneOf('--mode', options.mode, ['auto', 'feed', 'pages']),
    intervalMs: interval === undefined ? undefined : duration('--interval', interval, 100),
    overlapMs: duration('--overlap', options.overlap, 1000),
    batchEvents: integer('--batch', options.batch, 1, limits.forwardBatchEventsMax),
    once: options.once === true,
    rotateBytes,
    rotateKeep: rotateKeep === undefined ? undefined : integer('--rotate-keep', rotateKeep, 1, 1_000_000),
    timeoutMs: duration('--timeout', options.timeout, 1000, 240_000),
    metricsMs: duration('--metrics-interval', options.metricsInterval, 1000),
    filter: filterOf(options),
  };
}
