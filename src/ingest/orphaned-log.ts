import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../base/observability/log.ts';
import type { SegmentSink } from '../base/events/segment-insert.ts';
import { unlessAborted } from '../base/waiting/within.ts';
import { Batcher } from './batcher.ts';
import { headFile, openLogFiles, segmentsIn } from './files.ts';
import type { Idempotency } from './idempotency.ts';
import { limits } from './limits.ts';
import type { LogNotes } from './log-notes.ts';
import type { DamageReports } from './recovery.ts';
import { segmentOfName } from './segment.ts';
import { Wal } from './wal.ts';

export interface OrphanedLogDeps {
  /** Holds the folders `wal` and `idempotency` of a process that is not there any more. */
  readonly dataDir: string;
  readonly log: Logger;
  readonly sink: SegmentSink;
  readonly damage: DamageReports;
  readonly segmentBytes: number;
  /** This process's answers: they include from now on what the other process has answered. */
  readonly idempotency: Idempotency;
  /** What the engine knows of the other one's log. */
  readonly notes?: LogNotes | undefined;
}

const sentFolder = 'wal.sent';

/** The lowest segment in the log folder of a data directory; undefined where there is none. */
export async function lowestSegmentIn(dataDir: string): Promise<number | undefined> {
  return (await segmentsIn(join(dataDir, 'wal')))[0];
}

/** The highest segment in the log folders of data directories, whoever has them open; 0 where there is none. */
export async function newestSegmentOf(dataDirs: readonly string[]): Promise<number> {
  const numbers = await Promise.all(dataDirs.map((dataDir) => segmentsIn(join(dataDir, 'wal'))));
  return Math.max(0, ...numbers.map((ofOne) => ofOne.at(-1) ?? 0));
}

/**
 * The log of a process that will not come back. What that has answered is remembered here from the moment it is opened, so
 * that no repeat is stored again meanwhile; then what is left in it is sent. Files that are kept as evidence of damage stay.
 */
export class OrphanedLog {
  readonly #deps: OrphanedLogDeps;
  readonly #wal: Wal;

  private constructor(deps: OrphanedLogDeps, wal: Wal) {
    this.#deps = deps;
    this.#wal = wal;
  }

  static async open(deps: OrphanedLogDeps): Promise<OrphanedLog> {
    const { dataDir, log, damage, segmentBytes, idempotency, notes } = deps;
    const files = await openLogFiles(join(dataDir, 'wal'));
    // Nothing is appended here, so neither size nor writer of a new segment counts.
    const bounds = { segmentBytes, bytesMax: Number.POSITIVE_INFINITY, writer: 0 };
    const wal = await Wal.open({ files, log, ...bounds, nowMs: Date.now, damage, notes });
    await idempotency.adopt(await openLogFiles(join(dataDir, 'idempotency')));
    await idempotency.rememberLogged(wal);
    return new OrphanedLog(deps, wal);
  }

  /** To be called once. Resolves with true when all of it is stored, with false when `signal` fired first. */
  async send(signal: AbortSignal): Promise<boolean> {
    const { dataDir, log, sink, damage, idempotency } = this.#deps;
    const wal = this.#wal;
    const segments = wal.sealed().length;
    if (segments > 0)
      log.info({ dataDir, segments }, 'sending what a process that is gone has left in its log');
    const batcher = new Batcher({
      wal,
      sink,
      log,
      damage,
      flushIntervalMs: limits.orphanedLogPollMs,
      stored: () => undefined,
      keepNotes: (kept) => idempotency.adoptNotes(kept),
    });
    batcher.start();
    const isSent = await hasEnded(batcher.emptied(), signal);
    batcher.stop();
    await wal.close();
    if (isSent && segments > 0)
      log.info({ dataDir, segments }, 'nothing is left in the log of a process that is gone');
    return isSent;
  }

  /**
   * Of one that was sent. Resolves with false when `signal` fired first. Its files stay until `told`: the next start tells
   * other processes its answers by them.
   */
  async remove(signal: AbortSignal, told: Promise<void> = Promise.resolve()): Promise<boolean> {
    if (!(await hasEnded(told, signal))) return false;
    await removeEmptied(this.#deps.dataDir);
    return true;
  }
}

/** Whether work came to its end before `signal` fired. */
async function hasEnded(work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  try {
    await unlessAborted(work, signal);
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}

/** Removes the folders; a log that holds evidence of damage keeps that. */
async function removeEmptied(dataDir: string): Promise<void> {
  await rm(join(dataDir, 'idempotency'), { recursive: true, force: true });
  const wal = join(dataDir, 'wal');
  // First: it would miss them.
  await headFile(wal).remove();
  const names = await readdir(wal);
  const segments = names.filter((name) => segmentOfName(name) !== undefined);
  if (segments.length < names.length) {
    for (const name of segments) await rm(join(wal, name));
    return;
  }
  // Under another name first: what a crash leaves of it is no log that has lost a segment.
  const sent = join(dataDir, sentFolder);
  await rm(sent, { recursive: true, force: true });
  await rename(wal, sent);
  await rm(sent, { recursive: true });
}
