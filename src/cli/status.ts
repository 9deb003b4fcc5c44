import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { parseDurationMs } from '../base/time/units.ts';
import type { Answer } from '../contract/document.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { requireData } from '../config/data-dir.ts';
import type { CliDeps } from './context.ts';
import { limits } from './limits.ts';
import { wrong } from '../tools/option.ts';
import { printJson } from './output.ts';
import type { JsonOption } from '../tools/output.ts';
import { askStatus } from './running-server.ts';

/** Longer than a first start takes. */
const statusWaitMs = 120_000;

interface StatusOptions extends JsonOption {
  readonly dataDir?: string;
  readonly wait?: string | true;
}

export function loadServedConfig(
  { environment }: CliDeps,
  { dataDir }: { readonly dataDir?: string },
): Config {
  return loadConfig({ ...environment, ...(dataDir !== undefined && { DATA_DIR: dataDir }) });
}

async function status(deps: CliDeps, options: StatusOptions): Promise<void> {
  const { dataDir } = loadServedConfig(deps, options);
  const deadline = performance.now() + waitMs(options);
  let status = await askStatus(dataDir);
  if (!status.running && options.wait !== undefined)
    deps.io.error(`auditlog: waiting for a server on DATA_DIR ${dataDir}\n`);
  while (!status.ready && performance.now() < deadline) {
    await sleep(limits.statusPollMs);
    status = await askStatus(dataDir);
  }
  if (options.json === true) printJson(deps, 'CliStatus', status);
  if (options.wait === undefined) await requireData(dataDir);
  if (!status.ready) throw new Error(describeTrouble(status, dataDir));
  if (options.json === undefined)
    deps.io.out(`${status.url} is ready: process ${status.pid}, since ${status.started_at}\n`);
}

function waitMs({ wait }: StatusOptions): number {
  if (wait === undefined) return 0;
  if (wait === true) return statusWaitMs;
  return parseDurationMs(wait) ?? fail();
}

function fail(): never {
  throw wrong('--wait', 'a duration such as 30s or 5m');
}

function describeTrouble({ running, pid, url, checks }: Answer<'CliStatus'>, dataDir: string): string {
  if (!running) return `no server runs on DATA_DIR ${dataDir}; start it with "auditlog serve"`;
  if (url === null) return `a server is starting on DATA_DIR ${dataDir}: process ${pid}`;
  const failing = Object.keys(checks).filter((name) => checks[name] === false);
  const why = failing.length === 0 ? 'it does not answer' : failing.join(', ');
  return `${url} is not ready (${why}): process ${pid}`;
}

export function registerStatus(program: Command, deps: CliDeps): void {
  program
    .command('status')
    .description('print process, address and readiness of the server on DATA_DIR; exit code 0 if it is ready')
    .option('--data-dir <directory>', 'of the server (default: DATA_DIR)')
    .option('--wait [duration]', 'wait until it is ready (default: up to 2m)')
    .option('--json', 'print JSON')
    .action((options: StatusOptions) => status(deps, options));
}
