import { Problem } from '../../base/problem.ts';
import { parseBytes } from '../../base/sizes.ts';
import type { EventSchema } from '../../client/client.ts';
import type { Environment } from '../../config/env.ts';
import { limits } from '../limits.ts';
import { type Filters, httpAddress, wrong } from '../option.ts';
import { givenKey, readSecretFile } from '../secret.ts';
import type { FormatName } from './formats.ts';

/** The options as the command line gives them, each understood by one of the functions below or of `option.ts`. */
export interface ForwardOptions extends Filters {
  readonly url: string;
  readonly keyFile?: string;
  readonly to: Destination;
  readonly format: FormatName;
  readonly schema: EventSchema;
  readonly header?: readonly string[];
  readonly headerFile?: string;
  readonly gzip?: true;
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
  | { readonly kind: 'http'; readonly url: URL };

export const eventSchemas = ['default', 'ocsf'] as const satisfies readonly EventSchema[];
export const forwardModes = ['auto', 'feed', 'pages'] as const;
export type ForwardMode = (typeof forwardModes)[number];

/** What of a run is not in the options themselves. */
export interface ForwardSecrets {
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function destination(text: string, name: string): Destination {
  if (text === '-') return { kind: 'stream' };
  if (text.startsWith('file:')) {
    // Both file:path and file:///path, as people write them.
    const path = text.slice('file:'.length).replace(/^\/\/(?=\/)/, '');
    if (path === '' || path.includes('\0')) throw wrong(name, 'file: needs a path');
    return { kind: 'file', path };
  }
  if (!/^https?:/i.test(text)) throw wrong(name, '-, file:PATH or an http(s) address');
  return { kind: 'http', url: httpAddress(text, name) };
}

export function rotationBytes(text: string, name: string): number {
  const bytes = parseBytes(text) ?? 0;
  if (bytes < limits.forwardFileBytesMin)
    throw wrong(name, `a size such as 64MiB, at least ${limits.forwardFileBytesMin}`);
  return bytes;
}

/** The key and the headers, from files and the environment. Rejects with Problem `malformed` naming the option. */
export async function readSecrets(
  options: ForwardOptions,
  environment: Environment,
): Promise<ForwardSecrets> {
  const apiKey = await givenKey(options, environment);
  if (apiKey === undefined)
    throw new Problem('malformed', 'an API key with scope read is needed in AUDITLOG_API_KEY or --key-file');
  return { apiKey, headers: await headersOf(options, environment) };
}

async function headersOf(
  { header = [], headerFile }: ForwardOptions,
  environment: Environment,
): Promise<Readonly<Record<string, string>>> {
  const text = headerFile === undefined ? '' : await readSecretFile('--header-file', headerFile);
  const lines = text.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries([
    ...lines.map((line) => headerOf('--header-file', line, undefined)),
    ...header.map((line) => headerOf('--header', line, environment)),
  ]);
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
