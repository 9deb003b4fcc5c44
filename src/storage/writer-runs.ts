import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readIfThere, replaceFile } from '../base/files/durable-file.ts';
import type { Logger } from '../base/observability/log.ts';
import { isDiskFull } from '../base/errors/system-error.ts';
import { Lease, type Rival } from './lease.ts';
import { limits } from './limits.ts';
import type { Storage } from './storage.ts';

interface RunOptions {
  readonly storage: Storage;
  readonly dataDir: string;
  /** UUID of the data directory, which a copy of it has, too. */
  readonly instance: string;
  readonly log: Logger;
}

/** Each run of a server has a lease with its instance in the name. */
export const runLeases = 'run ';

/** Another server runs on the data directory that this one is a copy of. */
export class CopiedDataDirError extends Error {
  constructor(dataDir: string, { host, pid }: Rival) {
    super(
      `DATA_DIR ${dataDir} is a copy of one that a running server uses (host ${host}, process ${pid}): ` +
        'give this server a DATA_DIR of its own, or remove instance-id, wal, wal-head and idempotency from the copy; what is in its log, the other server stores',
    );
    this.name = 'CopiedDataDirError';
  }
}

/**
 * This run of a server, as others on the engine see it: its lease says that it is alive. Another lease of the same
 * instance that is still renewed is another process with a copy of the data directory: both would take the same
 * places in the order. That of the run before this one in this very directory is no such thing, however young it
 * is, as the directory's lock says that its process has ended, in whatever container; the directory is known by its
 * place on the disk, which a copy has not.
 */
export class WriterRun {
  readonly #options: RunOptions;
  readonly #run = randomUUID();
  #predecessor = '';
  #instance: string;
  #lease: Lease;

  private constructor(options: RunOptions) {
    this.#options = options;
    this.#instance = options.instance;
    this.#lease = this.#leaseOf(options.instance);
  }

  /** Rejects with CopiedDataDirError, or EngineError. */
  static async begin(options: RunOptions): Promise<WriterRun> {
    const run = new WriterRun(options);
    await run.#knowPredecessor();
    await run.#waitForOthers();
    return run;
  }

  /** Says that this run is alive, and as which instance. Rejects with EngineError. */
  async renew(instance: string): Promise<void> {
    if (instance !== this.#instance) this.#lease = this.#leaseOf(instance);
    this.#instance = instance;
    await this.#lease.claim(1);
  }

  /** The run that was here before this one and is alive, if there is any. Rejects with EngineError. */
  async rival(): Promise<Rival | undefined> {
    return (await this.#lease.rivals()).find(({ owner }) => owner !== this.#predecessor);
  }

  /** A run that has ended is not waited for by a start on another machine. */
  end(): Promise<void> {
    return this.#lease.end();
  }

  #leaseOf(instance: string): Lease {
    const { storage, log } = this.#options;
    const name = `${runLeases}${instance}`;
    return new Lease({ storage, name, owner: this.#run, lastsMs: limits.writerRunStaleMs, log });
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
      if (other.owner !== first.owner || other.newest !== first.newest)
        throw new CopiedDataDirError(dataDir, other);
    }
  }
}
