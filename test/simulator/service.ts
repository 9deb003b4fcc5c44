import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../support/http.ts';
import { startServer, type TestServer } from '../support/server.ts';
import type { DamageKind } from './checks/log.ts';
import { hold } from './finding.ts';
import { limits } from './limits.ts';
import { names } from './model.ts';
import { ending, until } from './waiting.ts';

/** Settings that faults change between two starts. */
export interface Settings {
  /** Error of its wall clock. */
  readonly clockAheadMs: number;
  /** Extra time of each write to the disk; the engine is not slowed. */
  readonly diskSlowMs: number;
  /** Additional names whose values are redacted. */
  readonly redactKeys: string;
}

const pollMs = 20;
const shiftedClock = new URL('../support/shifted-clock.mjs', import.meta.url).href;
const slowDisk = new URL('../support/slow-disk.mjs', import.meta.url).href;

interface Damage {
  readonly kind: DamageKind;
  readonly id: string;
  readonly detail: string;
}

/** The service under test: successive processes on one data directory, and their logs. */
export class Service {
  #dataDir: string;
  #settings: Settings;
  #server: TestServer | undefined;
  #starting: Promise<TestServer> | undefined;
  readonly #gone: TestServer[] = [];
  /** Checked lines of each server. */
  readonly #read = new Map<TestServer, number>();

  constructor(dataDir: string, redactKeys: string) {
    this.#dataDir = dataDir;
    this.#settings = { clockAheadMs: 0, diskSlowMs: 0, redactKeys };
  }

  get dataDir(): string {
    return this.#dataDir;
  }

  get settings(): Settings {
    return this.#settings;
  }

  get aheadDays(): number {
    return Math.max(0, Math.ceil(this.#settings.clockAheadMs / 86_400_000));
  }

  /** Resolves with the server once it runs; whoever stopped the last one starts the next. */
  async up(): Promise<TestServer> {
    while (this.#server === undefined) {
      if (this.#starting === undefined) await sleep(pollMs);
      else await this.#starting;
    }
    return this.#server;
  }

  /** Environment of commands: the service's settings, with the real clock and disk. */
  get commandEnvironment(): Record<string, string> {
    const { NODE_OPTIONS: _, CLOCK_SHIFT_MS: __, ...environment } = this.environment;
    return environment;
  }

  get environment(): Record<string, string> {
    const { clockAheadMs, diskSlowMs, redactKeys } = this.#settings;
    const preloads = [clockAheadMs !== 0 && shiftedClock, diskSlowMs !== 0 && slowDisk].filter(
      (one) => one !== false,
    );
    return {
      APP_NAME: names.appName,
      VENDOR_NAME: names.vendorName,
      PRODUCT_NAME: names.productName,
      RATE_LIMIT_TENANT: 'off',
      RATE_LIMIT_LOGIN: 'off',
      // A clock that is months ahead must not end the sessions of a run.
      SESSION_TTL: '300d',
      CLOCK_SHIFT_MS: String(clockAheadMs),
      SLOW_DISK_MS: String(diskSlowMs),
      ...(redactKeys !== '' && { REDACT_KEYS: redactKeys }),
      ...(preloads.length > 0 && { NODE_OPTIONS: preloads.map((one) => `--import ${one}`).join(' ') }),
    };
  }

  start(settings = this.#settings): Promise<TestServer> {
    this.#settings = settings;
    // Events that a jumping clock has expired are removed after a day.
    const retentionGraceMs = settings.clockAheadMs > 0 ? 86_400_000 : 2_000;
    const intervals = { evidenceMs: 1_000, retentionGraceMs };
    this.#starting ??= startServer({ dataDir: this.#dataDir, env: this.environment, intervals }).then(
      (server) => {
        this.#server = server;
        this.#starting = undefined;
        return server;
      },
      (error: unknown) => {
        this.#starting = undefined;
        const said = error instanceof Error ? error.message : String(error);
        hold(false, 'a start is always possible', () => said);
        throw error;
      },
    );
    return this.#starting;
  }

  /** SIGKILL to the server; its engine ends by itself. */
  async kill(): Promise<void> {
    const server = await this.up();
    this.#leave(server);
    await ending('the engine of a killed server', limits.commandMsMax, server.kill('SIGKILL'));
  }

  /** SIGTERM; the server must exit cleanly. */
  async stop(): Promise<void> {
    const server = await this.up();
    this.#leave(server);
    const code = await ending('a stop', limits.commandMsMax, server.stop());
    hold(
      code === 0,
      'a stop is in order',
      () => `exit code ${code}\n${server.stderrLines().slice(-20).join('\n')}`,
    );
  }

  async killAtTheEnd(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    if (this.#server !== undefined) await this.kill();
  }

  /** Kills only the engine: the service must restart it. */
  async killEngine(): Promise<boolean> {
    const pid = (await this.up()).enginePid();
    if (pid === undefined) return false;
    try {
      process.kill(pid, 'SIGKILL');
      return true;
    } catch {
      // It has ended, and is being restarted.
      return false;
    }
  }

  /** Suspends the engine, as a suspended machine does. */
  async pauseEngine(ms: number): Promise<boolean> {
    const pid = (await this.up()).enginePid();
    if (pid === undefined) return false;
    try {
      process.kill(pid, 'SIGSTOP');
      await sleep(ms);
      process.kill(pid, 'SIGCONT');
      return true;
    } catch {
      // It has ended, and is being restarted.
      return false;
    }
  }

  /** Corrects the clock of a running service. */
  async setClockRight(): Promise<void> {
    process.kill((await this.up()).pid, 'SIGUSR2');
  }

  /** Uses another data directory from the next start on. */
  continueIn(dataDir: string): void {
    this.#dataDir = dataDir;
  }

  #leave(server: TestServer): void {
    this.#server = undefined;
    this.#gone.push(server);
  }

  /** Resolves when `/readyz` is 200. */
  async ready(): Promise<void> {
    let said = '';
    await until(
      'a service without a fault is ready',
      () => `/readyz: ${said}`,
      async () => {
        const server = await this.up();
        const answer = await call(`${server.url}/readyz`, { headers: { connection: 'close' } }).catch(
          () => undefined,
        );
        said = answer?.text ?? 'no answer';
        return answer?.status === 200 || undefined;
      },
    );
  }

  /** The damage that the service reports. */
  async damage(): Promise<readonly Damage[]> {
    const server = await this.up();
    const answer = await call(`${server.url}/readyz`, { headers: { connection: 'close' } });
    return (JSON.parse(answer.text) as { damage?: readonly Damage[] }).damage ?? [];
  }

  /** Resolves when `/readyz` reports this kind of damage. */
  async reports(kind: DamageKind, what: string): Promise<void> {
    let said: readonly Damage[] = [];
    await until(
      'losses are reported',
      () => `${what}, and /readyz says ${JSON.stringify(said)}`,
      async () => {
        said = await this.damage();
        return said.some((one) => one.kind === kind) || undefined;
      },
    );
  }

  /** Unchecked lines of the operational log. */
  newLines(): string[] {
    const servers = this.#server === undefined ? this.#gone : [...this.#gone, this.#server];
    return servers.flatMap((server) => {
      const lines = server.stderrLines();
      const from = this.#read.get(server) ?? 0;
      this.#read.set(server, lines.length);
      return lines.slice(from);
    });
  }

  /** A statement to the engine behind the service, like an intruder or a broken disk. */
  async ask(statement: string): Promise<string> {
    const server = await this.up();
    const file = JSON.parse(readFileSync(join(server.dataDir, 'engine.json'), 'utf8')) as {
      readonly url: string;
      readonly user: string;
      readonly password: string;
      readonly headers: Record<string, string>;
    };
    const answer = await call(`${file.url}/?database=audit&default_format=TSV&mutations_sync=2`, {
      method: 'POST',
      headers: { ...file.headers, 'x-clickhouse-user': file.user, 'x-clickhouse-key': file.password },
      body: statement,
      timeoutMs: limits.requestMsMax,
    });
    if (answer.status !== 200) throw new Error(`the engine refused ${statement}: ${answer.text}`);
    return answer.text;
  }
}
