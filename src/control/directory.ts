import type { Clock } from '../base/time/clock.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { freshSingleFlight } from '../base/waiting/single-flight.ts';
import type { QueryOptions, Storage } from '../storage/storage.ts';
import { apiKeyTable } from './api-keys.ts';
import { DirectoryState } from './directory-state.ts';
import { endedSessionTable } from './ended-sessions.ts';
import { limits } from './limits.ts';
import { organizationTable } from './organizations.ts';
import { retentionTable } from './retention.ts';
import { signOnTable } from './sign-on-settings.ts';
import { userTable } from './users.ts';

const controlRefreshMs = 1_000;
const controlRefreshMsMax = 5_000;

export interface DirectoryDeps {
  readonly storage: Storage;
  readonly log: Logger;
  readonly clock: Clock;
  /** Ended sessions that have expired by it are forgotten: no clock that jumps ahead must forget one (`steadyClock`). */
  readonly expiryMicros: Clock;
}

const tables = [
  organizationTable,
  userTable,
  apiKeyTable,
  endedSessionTable,
  retentionTable,
  signOnTable,
] as const;

/**
 * The engine's own time and, of every table, the time of its last write, in Unix microseconds. Every process asks this
 * each second, for as long as it runs, so it is a union: scalar subqueries in one row are dearer to plan.
 */
const newestQuery = [
  "SELECT 'now' AS name, toUnixTimestamp64Micro(now64(6)) AS micros",
  ...tables.map(({ name }) => `SELECT '${name}', toUnixTimestamp64Micro(max(written)) FROM ${name}`),
].join(' UNION ALL ');

/**
 * Organizations, their policies, users and keys in memory: what every request is checked against without asking the engine. Empty until
 * the first `refresh`. Changes of other processes arrive within `controlRefreshMs` and the time of a query
 * (contract: Credentials).
 */
export class Directory extends DirectoryState {
  /** Reads what has changed. Rejects with EngineError, and then the last good state stays. */
  readonly refresh = freshSingleFlight(() => this.#refresh());
  readonly #deps: DirectoryDeps;
  /** Unix microseconds of the engine's clock at the last good refresh; 0 before it. */
  #engineMicros = 0;
  /** When the last good refresh began, by this process's clock. */
  #refreshedMicros = 0;
  #failing = false;
  #refreshing: Repeated | undefined;

  constructor(deps: DirectoryDeps) {
    super();
    this.#deps = deps;
  }

  /** Refreshes every `controlRefreshMs` from now on; a failure is logged once and tried again. */
  start(): void {
    this.#refreshing ??= new Repeated(
      controlRefreshMs,
      () => this.#refreshOrKeep(),
      () => undefined,
    );
  }

  async stop(): Promise<void> {
    await this.#refreshing?.stop();
    this.#refreshing = undefined;
  }

  /** Resolves once the state is at most so old, or could not be renewed; never rejects. */
  async freshen(ageMsMax: number): Promise<void> {
    if (this.#deps.clock() - this.#refreshedMicros > ageMsMax * 1000) await this.#refreshOrKeep();
  }

  /** Everything is read before anything is applied, so a key never appears before its organization. */
  async #refresh(): Promise<void> {
    const { storage, clock, expiryMicros } = this.#deps;
    const begun = clock();
    // An insert takes its time after it is stamped: look back far enough to see what committed late.
    const since = Math.max(0, this.#engineMicros - limits.controlOverlapMs * 1000);
    // The first one is what the process starts with: it may take as long as any read.
    const options = this.#engineMicros === 0 ? {} : { timeoutMs: controlRefreshMsMax };
    const found = await storage.rows<{ name: string; micros: string }>(newestQuery, {}, options);
    const newest = new Map(found.map(({ name, micros }) => [name, Number(micros)]));
    const engineMicros = newest.get('now');
    if (engineMicros === undefined) throw new Error('the engine did not tell its time');
    const written = <T>(table: {
      name: string;
      writtenSince(storage: Storage, since: number, how: QueryOptions): Promise<T[]>;
    }) => ((newest.get(table.name) ?? Infinity) < since ? [] : table.writtenSince(storage, since, options));
    const [organizations, users, apiKeys, endedSessions, policies, signOns] = await Promise.all([
      written(organizationTable),
      written(userTable),
      written(apiKeyTable),
      written(endedSessionTable),
      written(retentionTable),
      written(signOnTable),
    ]);
    this.apply({ organizations, users, apiKeys, endedSessions, policies, signOns }, expiryMicros());
    this.#engineMicros = engineMicros;
    this.#refreshedMicros = begun;
  }

  /** Logged when it begins to fail and when it works again, not every second. */
  async #refreshOrKeep(): Promise<void> {
    const { log } = this.#deps;
    try {
      await this.refresh();
      if (this.#failing) log.info({}, 'control data is refreshed again');
      this.#failing = false;
    } catch (error) {
      if (!this.#failing)
        log.warn(errorFacts(error), 'control data cannot be refreshed; the last state stays');
      this.#failing = true;
    }
  }
}
