import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { Problem } from '../base/errors/problem.ts';
import { Interrupted, nothingKept, stopSignal } from './interrupted.ts';
import { AuditlogError } from '../client/error.ts';
import { baseUrl, endpoint, httpError, networkError } from '../client/transport.ts';
import type { ToolDeps } from './context.ts';
import {
  addFilters,
  addRows,
  readFilters,
  oneOf,
  option,
  type OptionRow,
  serviceAddress,
  wrong,
} from './option.ts';
import { checkOutputFile, reportFile, toOutput, writeWhole } from './output-file.ts';
import { neededKey } from './secret.ts';
import { trustedFetch, type TrustOptions, trustRows } from './trusted-fetch.ts';

const formats = ['ndjson', 'json', 'csv'] as const;

export interface ExportOptions extends TrustOptions {
  readonly org?: string;
  readonly url?: string;
  readonly keyFile?: string;
  readonly format?: string;
  readonly schema?: 'default' | 'ocsf';
  readonly output?: string;
  readonly case?: string;
  readonly bom?: true;
  readonly json?: true;
}

export interface ExportEngine {
  readonly formats: readonly string[];
  readonly options: readonly OptionRow[];
  readonly run: (options: ExportOptions) => Promise<void>;
}

export function chooseFormat<T extends string>(
  { format, output = '-' }: Pick<ExportOptions, 'format' | 'output'>,
  known: readonly T[],
): T {
  if (format !== undefined) return oneOf(known)(format, '--format', undefined);
  const name = output === '-' ? 'events.ndjson' : output.replace(/\.(?:gz|zst)$/, '');
  const ofName = known.find((one) => name.endsWith(`.${one}`));
  if (ofName !== undefined) return ofName;
  throw wrong(
    '--output',
    `a name that ends in .${known.join(', .')}, perhaps followed by .gz or .zst; otherwise give --format`,
  );
}

/** Refuses a schema or byte order mark that the format does not allow. */
export function checkFormat(format: string, { schema, bom }: ExportOptions): void {
  if (schema === 'ocsf' && format === 'csv')
    throw wrong('--schema', 'ocsf is for --format ndjson, json or parquet; csv has its own columns');
  if (bom === true && format !== 'csv') throw wrong('--bom', 'for --format csv');
}

export function reportLongCells({ io }: ToolDeps, cells = 0): void {
  if (cells > 0) io.error(`${cells} cells have more than 32,767 characters: Excel truncates them\n`);
}

/** The endpoint's answer before its body. Fails if the server ignored a filter: it would send too much. */
async function requestExport(
  { environment }: ToolDeps,
  url: string,
  path: string,
  query: object,
  options: ExportOptions & { readonly signal: AbortSignal | null },
): Promise<Response> {
  const { signal } = options;
  const key = await neededKey(options, environment);
  const ask = await trustedFetch(options);
  const address = endpoint(baseUrl(url), path, query);
  const headers = { 'x-api-key': key };
  const response = await ask(address, { headers, redirect: 'manual', signal }).catch((error: unknown) =>
    Promise.reject(networkError(error, address)),
  );
  if (!response.ok) throw await httpError(response);
  const ignored = response.headers.get('ignored-parameters');
  if (ignored === null) return response;
  await response.body?.cancel();
  throw new Error(`the server at ${url} does not know these parameters: ${ignored}`);
}

async function overHttp(deps: ToolDeps, url: string, options: ExportOptions): Promise<void> {
  const format = chooseFormat(options, formats);
  checkFormat(format, options);
  const { output = '-', schema, bom } = options;
  const file = resolve(output);
  if (output !== '-') await checkOutputFile(file);
  const query = {
    ...readFilters(options),
    format,
    ...(schema === 'ocsf' && { schema }),
    ...(bom && { bom: '1' }),
  };
  // Output to standard output ends with the process.
  const signal = output === '-' ? null : stopSignal(deps);
  try {
    const response = await requestExport(deps, url, 'api/v1/audit/export', query, { ...options, signal });
    reportLongCells(deps, Number(response.headers.get('x-long-cells')));
    const events = Readable.from((response.body ?? []) as AsyncIterable<Uint8Array>, { objectMode: false });
    events.once('error', () => undefined);
    if (output === '-') return await toOutput(events, deps.io.output);
    const rows = Number(response.headers.get('x-total-count'));
    reportFile(deps, options, { ...(await writeWhole(file, events)), rows });
  } catch (error) {
    throw signal?.aborted === true ? new Interrupted(nothingKept) : error;
  }
}

/** A checkpoint follows an event within half a minute; meanwhile more events come. */
const caseTriesMax = 5;

/** Events with their proofs, as a file for `verify`. Repeats the request until a checkpoint covers all of them. */
async function caseOverHttp(deps: ToolDeps, url: string, options: ExportOptions): Promise<void> {
  const file = resolve(options.case ?? '');
  await checkOutputFile(file);
  const signal = stopSignal(deps);
  const asking = { ...options, signal };
  try {
    for (let tries = 1; ; tries++) {
      const answer = await requestExport(
        deps,
        url,
        'api/v1/audit/evidence/case',
        readFilters(options),
        asking,
      ).catch((error: unknown) => {
        const isLater = error instanceof AuditlogError && error.status === 503 && tries < caseTriesMax;
        if (!isLater || error.retryAfterMs === undefined) throw error;
        deps.io.error(`${error.message}; trying again in ${Math.ceil(error.retryAfterMs / 1000)} s\n`);
        return error.retryAfterMs;
      });
      if (typeof answer === 'number') {
        await sleep(answer, undefined, { signal });
        continue;
      }
      const bytes = Readable.from((answer.body ?? []) as AsyncIterable<Uint8Array>, { objectMode: false });
      const rows = Number(answer.headers.get('x-total-count'));
      return reportFile(deps, options, { ...(await writeWhole(file, bytes)), rows });
    }
  } catch (error) {
    throw signal.aborted ? new Interrupted(nothingKept) : error;
  }
}

function checkCase(options: ExportOptions): void {
  const other = (['format', 'output', 'bom'] as const).find((name) => options[name] !== undefined);
  if (other !== undefined || options.schema === 'ocsf')
    throw wrong('--case', `without --${other ?? 'schema'}: a case file has one form`);
  if (options.url === undefined) throw wrong('--case', 'with --url: the service makes and signs the file');
  if (!options.case?.endsWith('.zip')) throw wrong('--case', 'a name that ends in .zip');
}

async function run(deps: ToolDeps, options: ExportOptions, engine: ExportEngine | undefined): Promise<void> {
  const { org, url } = options;
  if (options.case !== undefined) checkCase(options);
  if (engine !== undefined && org !== undefined && url === undefined) return engine.run(options);
  if (url === undefined || org !== undefined)
    throw new Problem('malformed', 'name either an organization of the engine (--org) or a server (--url)');
  const alone = engine?.options.map((row) => option(...row)).find((one) => one.attributeName() in options);
  if (alone !== undefined) throw wrong(alone.long ?? alone.flags, 'with --org alone');
  await (options.case === undefined ? overHttp : caseOverHttp)(deps, url, options);
}

export function registerExport(program: Command, deps: ToolDeps, engine?: ExportEngine): void {
  const known = (engine?.formats ?? formats).join('|');
  const command = program
    .command('export')
    .description("write an organization's events, newest first, as one consistent snapshot");
  if (engine === undefined)
    command.addOption(option('--url <url>', 'server', serviceAddress).makeOptionMandatory());
  else
    command
      .option('--org <slug>', 'slug or id of an organization in the engine')
      .addOption(option('--url <url>', 'a server, in place of --org', serviceAddress));
  command
    .option('--key-file <file>', 'with --url: file with the API key (default: AUDITLOG_API_KEY)')
    .option(`--format <${known}>`, 'default: by the file name, otherwise ndjson')
    .addOption(
      option(
        '--schema <name>',
        'form of the events: default, or ocsf (OCSF 1.1.0)',
        oneOf(['default', 'ocsf']),
        'default',
      ),
    )
    .option('-o, --output <file>', 'file; a name with .gz or .zst is compressed (default: standard output)')
    .option(
      '--case <file>',
      'with --url: write the events with their proofs to a .zip that "auditlog verify" checks, instead of --output',
    )
    .option('--bom', 'with csv: start with a byte order mark, so that Excel reads UTF-8')
    .option('--json', 'print JSON about the file');
  addRows(command, [...trustRows, ...(engine?.options ?? [])]);
  addFilters(command);
  command.action((options: ExportOptions) => run(deps, options, engine));
}
