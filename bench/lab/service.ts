import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Intervals } from '../../src/service/base.ts';
import { ownProcess } from './left-behind.ts';
import { type EngineAccess } from './engine.ts';

/** The service as a separate process, from the shipped programs. */
export interface Service {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  readonly engine: EngineAccess;
  /** Runs a command beside the server; resolves with its output, rejects if it fails. */
  cli(args: readonly string[], stdin?: string): Promise<string>;
  /** Drains it (SIGTERM) and waits for its end. */
  stop(): Promise<void>;
}

/** Root directory of the built bench. */
const root = new URL('../../../', import.meta.url);
const ownCheckout = fileURLToPath(root);
/** A program that starts it with other intervals of background work. */
const serveOften = fileURLToPath(new URL('test/support/serve-often.mjs', root));
const startMsMax = 60_000;
const errorCharactersMax = 4000;

/** A ClickHouse server to use instead of the embedded engine, as `http://user:password@host:port`. */
function remote(url: string | undefined): { env: Record<string, string>; access: EngineAccess | undefined } {
  if (url === undefined) return { env: {}, access: undefined };
  const { username, password, origin } = new URL(url);
  const user = username === '' ? 'default' : decodeURIComponent(username);
  const secret = decodeURIComponent(password);
  const database = `audit_bench_${process.pid}`;
  return {
    env: {
      CLICKHOUSE_URL: origin,
      CLICKHOUSE_USER: user,
      CLICKHOUSE_PASSWORD: secret,
      CLICKHOUSE_DATABASE: database,
    },
    access: { url: origin, user, password: secret, headers: {}, database, pid: undefined },
  };
}

/** Defaults, except rate limits, as the load comes from one address. */
function environment(dataDir: string, more: Readonly<Record<string, string>>): Record<string, string> {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'WORKERS', 'UV_THREADPOOL_SIZE'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(kept),
    PORT: '0',
    DATA_DIR: dataDir,
    RATE_LIMIT_AUDIT: 'off',
    RATE_LIMIT_TENANT: 'off',
    RATE_LIMIT_LOGIN: 'off',
    ...more,
  };
}

function untilListening(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(() => reject(new Error(`the service did not start:\n${text}`)), startMsMax);
    child.once('exit', () => reject(new Error(`the service ended:\n${text}`)));
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      text = (text + piece).slice(-errorCharactersMax);
      const line = text.split('\n').find((one) => one.includes('"listening"'));
      if (line === undefined) return;
      clearTimeout(timer);
      resolve((JSON.parse(line) as { port: number }).port);
    });
  });
}

async function run(
  cli: string,
  args: readonly string[],
  env: Record<string, string>,
  stdin: string,
): Promise<string> {
  const child = spawn(process.execPath, [cli, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => out.push(piece));
  child.stderr.on('data', (piece: Buffer) => err.push(piece));
  child.stdin.on('error', () => undefined); // A command that reads no input may close it first.
  child.stdin.end(stdin);
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0)
    throw new Error(`auditlog ${args.join(' ')}: ${Buffer.concat([...err, ...out]).toString()}`);
  return Buffer.concat(out).toString();
}

export async function startService(options: {
  readonly directory: string;
  readonly dataDir: string;
  readonly url: string | undefined;
  /** The service of another commit: its directory. */
  readonly checkout?: string | undefined;
  /** Further variables. */
  readonly variables: Readonly<Record<string, string>>;
  readonly intervals: Partial<Intervals> | undefined;
}): Promise<Service> {
  const { dataDir, intervals, checkout = ownCheckout } = options;
  // The shipped program.
  const cli = join(checkout, 'dist', 'cli.js');
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const { env: remoteEnv, access } = remote(options.url);
  const env = environment(dataDir, { ...remoteEnv, ...options.variables });
  const accessLog = openSync(join(options.directory, 'access.log'), 'a');
  const service = intervals ? [serveOften, new URL('dist/', root).href, JSON.stringify(intervals)] : [cli];
  const child = ownProcess(
    spawn(process.execPath, [...service, 'serve'], { env, stdio: ['ignore', accessLog, 'pipe'] }),
  );
  closeSync(accessLog);
  const port = await untilListening(child);
  const engineJson = (): EngineAccess =>
    JSON.parse(readFileSync(join(dataDir, 'engine.json'), 'utf8')) as EngineAccess;
  return {
    url: `http://127.0.0.1:${port}`,
    host: '127.0.0.1',
    port,
    pid: child.pid ?? 0,
    engine: access ?? engineJson(),
    cli: (args, stdin = '') => run(cli, args, env, stdin),
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await ended;
    },
  };
}
