import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DirectoryLock } from '../base/files/directory-lock.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { lockWithin } from '../config/data-dir.ts';
import { leftDirectories } from '../config/log-directories.ts';
import type { Ingest, TakenLog } from '../ingest/ingest.ts';
import { lowestSegmentIn, newestSegmentOf } from '../ingest/orphaned-log.ts';
import { instanceOf } from '../storage/open-storage.ts';
import { isFenced } from '../storage/fenced-writers.ts';
import type { Storage } from '../storage/storage.ts';
import { publishWatermark, withdrawWatermark } from '../storage/watermarks.ts';
import { limits } from './limits.ts';

interface OrphanedLogsOptions {
  readonly storage: Storage;
  readonly dataDir: string;
  /** The directories in which processes run now. */
  readonly used: readonly string[];
  readonly log: Logger;
}

interface Left {
  readonly directory: string;
  readonly instance: string;
  /** Undefined for DATA_DIR itself, which the server has locked. */
  readonly lock: DirectoryLock | undefined;
  /** Once it is open, and when it was sent; a failure ends it. */
  log?: TakenLog | undefined;
}

/** Only a process of its own gives the events of such a log new places in the order. */
const fencedWords = (directory: string): string =>
  `${directory} is of a process that was fenced (auditlog writers fence), and events are in its log: start once with as many PROCESSES as there were`;

/**
 * Logs that no process has any more, since PROCESSES is another number than before. One process takes them over:
 * readers of the feed wait for what is in them from the start on, then it is sent, and the directory goes.
 */
export class OrphanedLogs {
  readonly #options: OrphanedLogsOptions;
  readonly #found: readonly Left[];
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(options: OrphanedLogsOptions, found: readonly Left[]) {
    this.#options = options;
    this.#found = found;
  }

  /** To be called before anybody reads the feed. Rejects with EngineError, and where a process still has a log. */
  static async find(options: OrphanedLogsOptions): Promise<OrphanedLogs> {
    const { storage, dataDir, used } = options;
    const found: Left[] = [];
    for (const directory of await leftDirectories(dataDir, used)) {
      const lock = directory === dataDir ? undefined : await lockWithin(directory, limits.lockWaitMsMax);
      const instance = await instanceOf(directory);
      const low = await lowestSegmentIn(directory);
      if (low !== undefined && (await isFenced(storage, instance))) throw new Error(fencedWords(directory));
      if (low !== undefined) await publishWatermark(storage, instance, low);
      found.push({ directory, instance, lock });
    }
    return new OrphanedLogs(options, found);
  }

  /** To be awaited before a request is answered: what these processes have answered is known from then on. */
  async takeOver(ingest: Pick<Ingest, 'takeOver'>): Promise<void> {
    for (const left of this.#found) left.log = await ingest.takeOver(left.directory, left.instance);
  }

  /** Begins to send, and tries again where that fails. */
  start(ingest: Pick<Ingest, 'takeOver'>): void {
    this.#running = this.#run(ingest);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    for (const { lock } of this.#found) await lock?.release();
  }

  async #run(ingest: Pick<Ingest, 'takeOver'>): Promise<void> {
    for (const left of this.#found) await this.#repeat(left, () => this.#send(left, ingest));
    // Millions of answers are told for minutes: neither readers of the feed nor the events of another log wait for that.
    for (const left of this.#found) await this.#repeat(left, () => this.#remove(left, ingest));
  }

  /** Until it succeeds, or is stopped. */
  async #repeat(left: Left, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted && !(await this.#attempt(left, work)))
      await sleep(limits.leftRetryMs, undefined, { signal }).catch(() => undefined);
  }

  /** False when it is to be tried again. */
  async #attempt(left: Left, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      const facts = { directory: left.directory, ...errorFacts(error) };
      this.#options.log.error(facts, 'what a process that is gone has left could not be taken over yet');
      return false;
    }
  }

  async #send(left: Left, ingest: Pick<Ingest, 'takeOver'>): Promise<void> {
    const { storage } = this.#options;
    const { directory, instance } = left;
    const newest = await newestSegmentOf([directory]);
    const log = left.log ?? (await ingest.takeOver(directory, instance));
    left.log = undefined;
    if (!(await log.send(this.#stopping.signal))) return;
    await withdrawWatermark(storage, instance, newest);
    left.log = log;
  }

  async #remove(left: Left, ingest: Pick<Ingest, 'takeOver'>): Promise<void> {
    const { directory } = left;
    if (left.log === undefined) await this.#send(left, ingest);
    const { log } = left;
    left.log = undefined;
    if (log === undefined || !(await log.remove(this.#stopping.signal))) return;
    await rm(join(directory, 'instance-id'), { force: true });
    // Evidence of damage may still be there, and the socket of the lock is.
    if (directory === this.#options.dataDir) return;
    const names = await readdir(directory);
    if (names.includes('wal')) return;
    await rm(directory, { recursive: true });
  }
}
