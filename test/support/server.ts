import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Intervals } from '../../src/service/base.ts';
import { cliCommand, serviceCommand, sourceModule } from './cli-command.ts';
import { removeDirectory, temporaryDirectory } from './directories.ts';
import { copyEngineTemplate } from './engine-template.ts';
import { patience } from './patience.ts';
import { chosenEnvironment } from './chosen-engine.ts';
import {
  acceptedOf,
  type AuditEvent,
  call,
  eventually,
  holdAnswersOf,
  type HttpAnswer,
  type Page,
  pageOf,
} from './http.ts';
import { holdOutput } from './openapi.ts';
import { projectRoot } from './project-root.ts';

/** The service as its own process, started as an operator does, for black-box tests. */

const strictWriter = fileURLToPath(new URL('./strict-writer.cjs', import.meta.url));
/** With this FLUSH_INTERVAL an event is not readable sooner; earlier reads only load the engine. */
export const flushMs = 60;
const startMsMax = 40_000;
const stopMsMax = 30_000;
/** Measured time until events are readable on this machine: earlier reads cost a third of an event each. */
let readableMs = flushMs;
/** A test with slow work must not affect the next one's measure. */
const readableMsMax = 500;
/** Far above the contract's bound, for busy machines; `defaults` has the bound. */
const settleMsMax = 90_000;
/** Activity "API key created". */
const apiKeyCreated = 1300;
const cliMsMax = 40_000;

export interface CliAnswer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A shared service, which tests must not stop. */
export interface SharedServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly dataDir: string;
  /** Milliseconds from the start of the process to its `listening` line. */
  readonly startedInMs: number;
  stdoutLines(): readonly string[];
  stderrLines(): readonly string[];
  /** Pid of the embedded engine in `DATA_DIR/engine.json`; undefined if none is announced. */
  enginePid(): number | undefined;
  /** Runs the command line on the same data directory. */
  cli(args: readonly string[], stdin?: string): Promise<CliAnswer>;
  /** In the test's process; `stopped` stands for a Ctrl-C. */
  cliHere(args: readonly string[], stdin?: string, stopped?: Promise<void>): Promise<CliAnswer>;
}

export interface TestServer extends SharedServer {
  /** SIGTERM, then the exit code (null if killed). Removes the data directory unless it was given. */
  stop(): Promise<number | null>;
  /** Sends a signal; after SIGKILL waits until server and engine are gone. The data directory stays. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Resolves with the exit code once the process has ended. */
  exited(): Promise<number | null>;
}

export interface ServerOptions {
  /** Added to the tests' defaults; undefined restores the service's own default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Of background work; by default the service's own. */
  readonly intervals?: Partial<Intervals>;
  /**
   * A directory that outlives the server; by default a temporary one that `stop` removes. An existing one has
   * the database, a missing one is created by the service.
   */
  readonly dataDir?: string;
  /** A program with arguments that becomes the server's process, such as `unshare`. */
  readonly launcher?: readonly string[];
}

async function environment(
  dataDir: string,
  extra: ServerOptions['env'] = {},
): Promise<Record<string, string>> {
  const merged: Record<string, string | undefined> = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    TMPDIR: process.env['TMPDIR'],
    NODE_OPTIONS: `--require ${strictWriter}`,
    PORT: '0',
    DATA_DIR: dataDir,
    FLUSH_INTERVAL: '50ms',
    RATE_LIMIT_AUDIT: 'off',
    WORKERS: '1',
    ...(await chosenEnvironment(dataDir, extra)),
    ...extra,
  };
  return Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** Running servers, ended with this process. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
process.on('SIGTERM', () => process.exit(1));

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

function collectLines(child: ChildProcess, name: 'stdout' | 'stderr'): () => readonly string[] {
  let text = '';
  child[name]?.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  return () => linesOf(text);
}

/** A child's exit as a promise that never rejects; undefined after `timeoutMs`. */
function waitForExit(
  exit: Promise<number | null>,
  timeoutMs: number,
): Promise<{ code: number | null } | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), patience(timeoutMs));
    void exit.then((code) => {
      clearTimeout(timer);
      resolve({ code });
    });
  });
}

/** Runs the command line once, with the environment of a server on `dataDir`. */
export async function runCli(
  args: readonly string[],
  options: { dataDir: string; env?: ServerOptions['env']; stdin?: string | undefined; timeoutMs?: number },
): Promise<CliAnswer> {
  const child = spawn(process.execPath, [...cliCommand, ...args], {
    cwd: projectRoot,
    env: await environment(options.dataDir, options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const stdout = collectLines(child, 'stdout');
  const stderr = collectLines(child, 'stderr');
  const exit = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  child.stdin.on('error', () => undefined); // A command that reads no input may close it first.
  child.stdin.end(options.stdin ?? '');
  const ended = await waitForExit(exit, options.timeoutMs ?? cliMsMax);
  if (!ended) {
    child.kill('SIGKILL');
    throw new Error(`command did not end: ${args.join(' ')}\n${stderr().join('\n')}`);
  }
  const printed = stdout().join('\n');
  holdOutput(args, printed);
  return { code: ended.code, stdout: printed, stderr: stderr().join('\n') };
}

/**
 * In this process: a separate one costs half a second of the processor, and nearly every test creates
 * organizations and keys.
 */
export async function runCliHere(
  args: readonly string[],
  {
    dataDir,
    env,
    stdin = '',
    stopped,
  }: {
    dataDir: string;
    env?: ServerOptions['env'];
    stdin?: string | undefined;
    stopped?: Promise<void> | undefined;
  },
): Promise<CliAnswer> {
  const [{ runCli: run }, { recordEvents }, { eventHead, eventTail }] = await Promise.all([
    sourceModule<typeof import('../../src/cli/program.ts')>('cli/program'),
    sourceModule<typeof import('../../src/cli/record-events.ts')>('cli/record-events'),
    sourceModule<typeof import('../../src/ocsf/envelope.ts')>('ocsf/envelope'),
  ]);
  let stdout = '';
  let stderr = '';
  const text = new TextDecoder();
  const serves = (): never => assert.fail('a service runs in a process of its own');
  const code = await run([...args], {
    environment: await environment(dataDir, env),
    io: {
      out: (said) => (stdout += said),
      error: (said) => (stderr += said),
      output: new Writable({
        write: (bytes: Buffer, _encoding, done) => {
          stdout += text.decode(bytes, { stream: true });
          done();
        },
      }),
      input: Readable.from([Buffer.from(stdin)]),
    },
    recordEvents,
    eventEnvelope: (config) => ({ head: eventHead, tail: eventTail(config) }),
    startService: serves,
    untilStopped: () => stopped ?? new Promise(() => undefined),
  });
  holdOutput(args, stdout.trim());
  return { code, stdout: linesOf(stdout).join('\n'), stderr: linesOf(stderr).join('\n') };
}

function listeningPort(lines: readonly string[]): number | undefined {
  for (const line of lines) {
    if (!line.includes('"listening"')) continue;
    const port = (JSON.parse(line) as { port?: unknown }).port;
    if (typeof port === 'number') return port;
  }
  return undefined;
}

/** Starts `serve` and resolves once it listens; rejects with its log otherwise. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const dataDir = options.dataDir ?? (await temporaryDirectory());
  const ownsDirectory = options.dataDir === undefined;
  const service = options.intervals === undefined ? cliCommand : serviceCommand(options.intervals);
  const command = [process.execPath, ...service, 'serve'];
  const [program = process.execPath, ...args] = options.launcher?.concat(command) ?? command;
  const env = await environment(dataDir, options.env);
  if (env['CLICKHOUSE_URL'] === undefined && existsSync(dataDir)) await copyEngineTemplate(dataDir);
  const begun = performance.now();
  const child = spawn(program, args, {
    cwd: projectRoot,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const stdoutLines = collectLines(child, 'stdout');
  const stderrLines = collectLines(child, 'stderr');
  let ended: { code: number | null } | undefined;
  const exit = new Promise<number | null>((resolve) =>
    child.once('close', (code) => {
      ended = { code };
      running.delete(child);
      resolve(code);
    }),
  );
  const giveUp = async (why: string): Promise<never> => {
    child.kill('SIGKILL');
    await waitForExit(exit, stopMsMax);
    if (ownsDirectory) await removeDirectory(dataDir);
    throw new Error(`${why}\n${stderrLines().join('\n')}`);
  };
  const port = await eventually(
    'the server to listen',
    async () => (ended ? -1 : listeningPort(stderrLines())),
    startMsMax,
    5,
  ).catch(() => -1);
  if (port === -1)
    return giveUp(ended ? `the server ended with code ${ended.code}` : 'the server did not listen');
  const startedInMs = performance.now() - begun;

  const enginePid = () => {
    try {
      const text = readFileSync(join(dataDir, 'engine.json'), 'utf8');
      return text === '' ? undefined : (JSON.parse(text) as { pid?: number }).pid;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  };
  const kill = async (signal: NodeJS.Signals) => {
    const engine = enginePid();
    child.kill(signal);
    if (signal !== 'SIGKILL') return;
    await waitForExit(exit, stopMsMax);
    if (engine === undefined) return;
    await eventually(
      'the engine to follow its server',
      async () => (isAlive(engine) ? undefined : true),
      10_000,
    );
  };
  const stop = async () => {
    if (!ended) {
      child.kill('SIGTERM');
      if (!(await waitForExit(exit, stopMsMax))) await kill('SIGKILL');
    }
    if (ownsDirectory) await removeDirectory(dataDir);
    return ended?.code ?? null;
  };
  const url = `http://127.0.0.1:${port}`;
  holdAnswersOf(url);
  return {
    url,
    port,
    pid: child.pid ?? 0,
    dataDir,
    startedInMs,
    stdoutLines,
    stderrLines,
    enginePid,
    stop,
    kill,
    exited: () => exit,
    cli: (args, stdin) => runCli(args, { dataDir, env: options.env, stdin }),
    cliHere: (args, stdin, stopped) => runCliHere(args, { dataDir, env: options.env, stdin, stopped }),
  };
}

export interface Organization {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
}

export interface Key {
  readonly id: string;
  readonly key: string;
  readonly organization: unknown;
  readonly scopes: unknown;
  readonly expires_at: unknown;
}

/** The object printed with `--json`; the command must have succeeded. */
export function printed(answer: CliAnswer): unknown {
  assert.equal(answer.code, 0, `the command failed: ${answer.stderr}`);
  return JSON.parse(answer.stdout);
}

export async function createOrganization(server: SharedServer, slug: string): Promise<Organization> {
  return printed(
    await server.cliHere(['org', 'create', '--slug', slug, '--name', `Org ${slug}`, '--json']),
  ) as Organization;
}

/** A new API key by the command line, once the server knows it. */
export async function createKey(server: SharedServer, args: readonly string[]): Promise<Key> {
  const key = printed(await server.cliHere(['key', 'create', ...args, '--json'])) as Key;
  await keyKnown(server, key.key);
  return key;
}

/** Waits until the server knows this key: an unknown one gets 401 on a write. */
export function keyKnown(server: SharedServer, key: string): Promise<true> {
  return eventually('the server to know a new key', async () => {
    const answer = await call(`${server.url}/api/v1/audit`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: '{}',
    });
    return answer.status === 401 || answer.status === 429 ? undefined : true;
  });
}

/** An organization with one key of both scopes. */
export interface Tenant {
  readonly server: SharedServer;
  readonly organization: Organization;
  readonly key: string;
  /** GET on the audit endpoint; `query` is sent as written. */
  get(
    query?: string | Readonly<Record<string, string>>,
    headers?: Record<string, string>,
  ): Promise<HttpAnswer>;
  /** The page of a successful read. */
  page(query?: string | Readonly<Record<string, string>>): Promise<Page>;
  /** POST on the audit endpoint: text and bytes as they are, other values as JSON. */
  post(body: unknown, headers?: Record<string, string>): Promise<HttpAnswer>;
  /** Posts events that must all be accepted. */
  record(events: readonly unknown[]): Promise<void>;
  /**
   * The events of creating the organization and its key (contract: Sessions), newest first. They are at the
   * time of the test, so tests that count everything use other years.
   */
  own(): Promise<readonly AuditEvent[]>;
  /**
   * Waits until exactly `total` events match; without a query plus those of `own`. Fails at once if there are
   * more.
   */
  settled(total: number, query?: Readonly<Record<string, string>>): Promise<Page>;
  /** Waits until everything answered so far is readable, by an event recorded after it. */
  caughtUp(): Promise<void>;
  /** The same organization with another key or server. */
  with(changes: { key?: string; server?: SharedServer }): Tenant;
}

/** Calls `probe` until it returns a value: for data just acknowledged. */
export async function untilReadable<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
  const begun = performance.now();
  await sleep(readableMs);
  const value = await eventually(what, probe, settleMsMax);
  // Slightly less than measured, so that it can decrease.
  readableMs = Math.min(Math.max(flushMs, 0.8 * (performance.now() - begun)), readableMsMax);
  return value;
}

function queryText(query: string | Readonly<Record<string, string>> = ''): string {
  const text = typeof query === 'string' ? query : new URLSearchParams(query).toString();
  return text === '' ? '' : `?${text}`;
}

/** RFC 3339 times at which an organization and its first key were created. */
interface Made {
  readonly startTime: string;
  readonly endTime: string;
}

function tenantOf(server: SharedServer, organization: Organization, key: string, made: Made): Tenant {
  const endpoint = `${server.url}/api/v1/audit`;
  const tenant: Tenant = {
    server,
    organization,
    key,
    get: (query, headers = {}) =>
      call(`${endpoint}${queryText(query)}`, { headers: { 'x-api-key': key, ...headers } }),
    page: async (query) => pageOf(await tenant.get(query)),
    post: (body, headers = {}) =>
      call(endpoint, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    record: async (events) => {
      const answer = acceptedOf(await tenant.post(events));
      assert.deepEqual(answer, { accepted: events.length, rejected: 0, errors: [] });
    },
    own: () =>
      eventually('the event of the new key', async () => {
        const { data } = await tenant.page({ ...made });
        return data.some((event) => event.activity_id === apiKeyCreated) ? data : undefined;
      }),
    settled: async (total, query) => {
      const expected = total + (query === undefined ? (await tenant.own()).length : 0);
      const probe = async () => {
        const page = await tenant.page({ limit: '1000', ...query });
        assert.ok(page.meta.total <= expected, `${page.meta.total} events where ${expected} were recorded`);
        const whole = page.meta.total === expected && page.data.length === Math.min(expected, 1000);
        return whole ? page : undefined;
      };
      return untilReadable(`${total} events to be readable`, probe);
    },
    caughtUp: async () => {
      const flowId = randomUUID();
      await eventually('the rate limit to let an event in', async () => {
        const answer = await tenant.post([sourceEvent({ flow_id: flowId })]);
        return answer.status === 429 ? undefined : acceptedOf(answer).accepted === 1;
      });
      await tenant.settled(1, { flowId });
      // Segments are sent concurrently, so an earlier one may still be in progress.
      await eventually('older segments to be readable', async () => {
        const { text } = await call(`${server.url}/metrics`);
        return /^auditlog_wal_segments\S* [1-9]/m.test(text) ? undefined : true;
      });
    },
    with: (changes) => tenantOf(changes.server ?? server, organization, changes.key ?? key, made),
  };
  return tenant;
}

/** A new organization with one key for reading and writing. */
export async function createTenant(server: SharedServer, slug: string): Promise<Tenant> {
  const startTime = new Date().toISOString();
  const organization = await createOrganization(server, slug);
  const key = await createKey(server, ['--org', slug, '--scopes', 'read,write']);
  return tenantOf(server, organization, key.key, { startTime, endTime: new Date().toISOString() });
}

/** A source event with the required members. */
export function sourceEvent(message: Readonly<Record<string, unknown>> = {}, rest: object = {}): object {
  return { ...rest, message: { timestamp: '2024-05-06T07:08:09.123456Z', action: 2001, ...message } };
}
