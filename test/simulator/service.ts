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

/** How the service is started: what faults change between two starts. */
export interface Settings {
  /** By which its wall clock is wrong. */
  readonly clockAheadMs: number;
  /** By which each write to the disk takes longer; the engine is as quick as ever. */
  readonly diskSlowMs: number;
  /** Names beside the usual ones whose values are not stored. */
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

/** The service under test: its processes one after the other on one data directory, and all that they have logged. */
export class Service {
  #dataDir: string;
  #settings: Settings;
  #server: TestServer | undefined;
  #starting: Promise<TestServer> | undefined;
  readonly #gone: TestServer[] = [];
  /** Lines of each server that have been looked at. */
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

  /** The server, as soon as there is one: whoever ended the last one starts the next. */
  async up(): Promise<TestServer> {
    while (this.#server === undefined) {
      if (this.#starting === undefined) await sleep(pollMs);
      else await this.#starting;
    }
    return this.#server;
  }

  /** What commands beside it have: its settings, but clock and disk as they are. */
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
    // What a clock that jumps has expired is removed after a day.
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

  /** SIGKILL of the server; its engine follows by itself. */
  async kill(): Promise<void> {
    const server = await this.up();
    this.#leave(server);
    await ending('the engine of a killed server', limits.commandMsMax, server.kill('SIGKILL'));
  }

  /** SIGTERM, which must end it in order. */
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

  /** Kills the engine alone: the service must bring it back. */
  async killEngine(): Promise<boolean> {
    const pid = (await this.up()).enginePid();
    if (pid === undefined) return false;
    try {
      process.kill(pid, 'SIGKILL');
      return true;
    } catch {
      // It has ended already, and is being brought back.
      return false;
    }
  }

  /** Stops the engine for so long, as a machine does that is suspended. */
  async pauseEngine(ms: number): Promise<boolean> {
    const pid = (await this.up()).enginePid();
    if (pid === undefined) return false;
    try {
      process.kill(pid, 'SIGSTOP');
      await sleep(ms);
      process.kill(pid, 'SIGCONT');
      return true;
    } catch {
      // It has ended meanwhile, and is being brought back.
      return false;
    }
  }

  /** Of a service that was started with a wrong one, until the next start. */
  async setClockRight(): Promise<void> {
    process.kill((await this.up()).pid, 'SIGUSR2');
  }

  /** Works in another data directory from the next start on. */
  continueIn(dataDir: string): void {
    this.#dataDir = dataDir;
  }

  #leave(server: TestServer): void {
    this.#server = undefined;
    this.#gone.push(server);
  }

  /** Until it says of itself that it is ready. */
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

  /** What is known to be damaged, as it says itself. */
  async damage(): Promise<readonly Damage[]> {
    const server = await this.up();
    const answer = await call(`${server.url}/readyz`, { headers: { connection: 'close' } });
    return (JSON.parse(answer.text) as { damage?: readonly Damage[] }).damage ?? [];
  }

  /** Until `/readyz` tells a kind of damage. */
  async tells(kind: DamageKind, what: string): Promise<void> {
    let said: readonly Damage[] = [];
    await until(
      'what is lost is told',
      () => `${what}, and /readyz says ${JSON.stringify(said)}`,
      async () => {
        said = await this.damage();
        return said.some((one) => one.kind === kind) || undefined;
      },
    );
  }

  /** Lines of the operational log that nobody has looked at yet. */
  newLines(): string[] {
    const servers = this.#server === undefined ? this.#gone : [...this.#gone, this.#server];
    return servers.flatMap((server) => {
      const lines = server.stderrLines();
      const from = this.#read.get(server) ?? 0;
      this.#read.set(server, lines.length);
      return lines.slice(from);
    });
  }

  /** A statement to the engine, past the service: as an intruder would, or a broken disk. */
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
