import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readIfThere, replaceFile } from '../base/files/durable-file.ts';
import type { Logger } from '../base/observability/log.ts';
import { isDiskFull } from '../base/errors/system-error.ts';
import { limits } from './limits.ts';
import type { Storage } from './storage.ts';

interface RunOptions {
  readonly storage: Storage;
  readonly dataDir: string;
  /** UUID of the data directory, which a copy of it has, too. */
  readonly instance: string;
  readonly log: Logger;
}

/** A run of a server that holds the same data directory, or a copy of it. */
interface OtherRun {
  readonly run: string;
  readonly host: string;
  readonly pid: number;
  readonly seen_at: string;
}

/** Another server runs on the data directory that this one is a copy of. */
export class CopiedDataDirError extends Error {
  constructor(dataDir: string, { host, pid }: OtherRun) {
    super(
      `DATA_DIR ${dataDir} is a copy of one that a running server uses (host ${host}, process ${pid}): ` +
        'give this server a DATA_DIR of its own, or remove instance-id and wal from the copy; what is in its log, the other server stores',
    );
    this.name = 'CopiedDataDirError';
  }
}

/**
 * This run of a server, as others on the engine see it. Its row says that it is alive. Another row of the same
 * instance that is still renewed is another process with a copy of the data directory: both would take the same
 * places in the order. The row of the run before this one in this very directory is no such thing, however young it
 * is, as the directory's lock says that its process has ended; the directory is known by its place on the disk, which
 * a copy has not.
 */
export class WriterRun {
  readonly #options: RunOptions;
  readonly #run = randomUUID();
  #predecessor = '';
  #instance: string;

  private constructor(options: RunOptions) {
    this.#options = options;
    this.#instance = options.instance;
  }

  /** Rejects with CopiedDataDirError, or EngineError. */
  static async begin(options: RunOptions): Promise<WriterRun> {
    const run = new WriterRun(options);
    await run.#knowPredecessor();
    await run.#waitForOthers();
    return run;
  }

  /** Says that this run is alive: as which instance, and under which number. Rejects with EngineError. */
  async renew(instance: string, writer: number): Promise<void> {
    const { storage } = this.#options;
    this.#instance = instance;
    await storage.insertRows('writer_runs', [
      { instance, run: this.#run, id: writer, host: hostname(), pid: process.pid },
    ]);
  }

  /** The run that was here before this one and is alive, if there is any. Rejects with EngineError. */
  async rival(): Promise<OtherRun | undefined> {
    const { storage } = this.#options;
    const [other] = await storage.rows<OtherRun>(
      `SELECT run, host, pid, toString(seen) AS seen_at FROM writer_runs FINAL
       WHERE instance = {instance:UUID} AND run NOT IN ({run:UUID}, {predecessor:UUID})
         AND seen > now64(3) - toIntervalMillisecond({ms:UInt32}) ORDER BY seen DESC LIMIT 1`,
      {
        instance: this.#instance,
        run: this.#run,
        predecessor: this.#predecessor === '' ? this.#run : this.#predecessor,
        ms: limits.writerRunStaleMs,
      },
    );
    return other;
  }

  /** A run that has ended is not waited for by a start on another machine. */
  async end(): Promise<void> {
    await this.#options.storage.command(
      'DELETE FROM writer_runs WHERE instance = {instance:UUID} AND run = {run:UUID}',
      { instance: this.#instance, run: this.#run },
    );
  }

  async #knowPredecessor(): Promise<void> {
    const { dataDir } = this.#options;
    const path = join(dataDir, 'last-run');
    const { dev, ino } = await stat(dataDir);
    const place = `${hostname()} ${dev} ${ino}`;
    const [run = '', ...lastPlace] = (await readIfThere(path))?.trim().split(' ') ?? [];
    if (lastPlace.join(' ') === place) this.#predecessor = run;
    try {
      await replaceFile(path, `${this.#run} ${place}\n`);
    } catch (error) {
      // No reason not to start: the next start then takes its time to look for others.
      if (!isDiskFull(error)) throw error;
    }
  }

  /** One that was killed elsewhere is not seen any more after a while; one that lives is seen again. */
  async #waitForOthers(): Promise<void> {
    const { dataDir, log } = this.#options;
    const first = await this.rival();
    if (first === undefined) return;
    log.info(
      { host: first.host, pid: first.pid },
      'looking whether another server runs on a copy of DATA_DIR',
    );
    for (;;) {
      await sleep(limits.writerRunLookMs);
      const other = await this.rival();
      if (other === undefined) return;
      if (other.run !== first.run || other.seen_at !== first.seen_at)
        throw new CopiedDataDirError(dataDir, other);
    }
  }
}
