import type { Clock } from '../base/clock.ts';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { freshSingleFlight } from '../base/single-flight.ts';
import type { Storage } from '../storage/storage.ts';
import type { ApiKey } from './api-keys.ts';
import { createDirectoryState } from './directory-state.ts';
import type { Organization } from './organizations.ts';
import { readWritten } from './read-written.ts';
import type { User } from './users.ts';

/** Organizations, users and keys in memory: what every request is checked against without asking the engine. */
export interface Directory {
  /** Reads what has changed. Rejects with EngineError, and then the last good state stays. */
  refresh(): Promise<void>;
  /** Resolves once the state is at most so old, or could not be renewed; never rejects. */
  freshen(ageMsMax: number): Promise<void>;
  /** Refreshes every `limits.controlRefreshMs` from now on; a failure is logged once and tried again. */
  start(): void;
  stop(): Promise<void>;
  organizationById(id: string): Organization | undefined;
  organizationBySlug(slug: string): Organization | undefined;
  /** By slug. */
  organizations(): readonly Organization[];
  apiKey(id: string): ApiKey | undefined;
  /** Users of every organization with this address in lower case, disabled ones included. */
  usersByEmail(emailLower: string): readonly User[];
  userById(id: string): User | undefined;
  /** True for the `jti` of a session that was ended before it expired. */
  sessionEnded(id: string): boolean;
  /** Another number whenever anything changed. */
  version(): number;
}

/** Repeats `work` with a pause before each; `work` does not reject. `stop` waits for one that is under way. */
function repeatedly(work: () => Promise<void>, pauseMs: number): { start(): void; stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let current = Promise.resolve();
  let started = false;

  function schedule(): void {
    timer = setTimeout(() => {
      current = work().then(() => {
        if (started) schedule();
      });
    }, pauseMs);
    timer.unref();
  }

  return {
    start() {
      if (started) return;
      started = true;
      schedule();
    },
    stop() {
      started = false;
      clearTimeout(timer);
      return current;
    },
  };
}

/**
 * The directory of an engine, empty until the first `refresh`. Changes of other processes arrive within
 * `limits.controlRefreshMs` and the time of a query (contract: Credentials).
 */
export function createDirectory(parts: {
  readonly storage: Storage;
  readonly log: Logger;
  readonly clock: Clock;
}): Directory {
  const { storage, log, clock } = parts;
  const { apply, ...state } = createDirectoryState();
  /** Unix microseconds of the engine's clock at the last good refresh; 0 before it. */
  let engineMicros = 0;
  /** Of this process's clock, when the last good refresh began. */
  let refreshedMicros = 0;
  let failing = false;

  const refresh = freshSingleFlight(async () => {
    const begun = clock();
    // An insert takes its time after it is stamped: look back far enough to see what committed late.
    const since = Math.max(0, engineMicros - limits.controlOverlapMs * 1000);
    const written = await readWritten(storage, since);
    apply(written.rows, clock());
    engineMicros = written.engineMicros;
    refreshedMicros = begun;
  });

  /** Logged when it begins to fail and when it works again, not every second. */
  async function refreshOrKeep(): Promise<void> {
    try {
      await refresh();
      if (failing) log.info({}, 'control data is refreshed again');
      failing = false;
    } catch (error) {
      if (!failing) log.warn(errorFacts(error), 'control data cannot be refreshed; the last state stays');
      failing = true;
    }
  }

  return {
    ...state,
    ...repeatedly(refreshOrKeep, limits.controlRefreshMs),
    refresh,
    async freshen(ageMsMax) {
      if (clock() - refreshedMicros > ageMsMax * 1000) await refreshOrKeep();
    },
  };
}
