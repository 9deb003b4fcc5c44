import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { readIfThere } from '../base/files/durable-file.ts';
import { Problem } from '../base/errors/problem.ts';
import type { Config } from '../config/config.ts';
import { readControlState } from '../control/directory.ts';
import type { StoredErasure } from '../control/erasure.ts';
import { readAnswers } from '../ingest/log-copy.ts';
import { newestMigration } from '../storage/migration-files.ts';
import type { Storage } from '../storage/storage.ts';
import { version } from '../tools/version.ts';
import { limits } from './limits.ts';
import { bytesBelow, type BackupDirectory, type BackupRecord, recordName } from './backup-directory.ts';
import { copyTables } from './statements.ts';
import { stepNames } from './tables.ts';

/** Read rate beside a running server: a tenth of the engine's full speed. */
const backupBytesPerSecond = 50_000_000;
/** A full backup is extended until the newest increment has this share of its bytes. */
const backupIncrementShareMax = 0.5;

export const secretNames = [
  'session-secret',
  'pseudonym-secret',
  'evidence-key',
  'evidence-key.previous',
] as const;

export const answersName = 'answers';
export const secretsName = 'secrets';

interface BackupSession {
  readonly storage: Storage;
  readonly config: Config;
  readonly isShared: boolean;
}

interface TakeOptions {
  readonly place: BackupDirectory;
  readonly momentMs: number;
  readonly isFull: boolean;
  readonly withSecrets: boolean;
  readonly isFullSpeed: boolean;
}

export interface TakenBackup {
  readonly record: BackupRecord;
  readonly files: number;
  readonly notes: readonly string[];
}

/** Tables by the engine, other data beside them (src/backup/README.md). */
export class BackupRun {
  readonly #session: BackupSession;
  readonly #options: TakeOptions;
  #id = '';
  readonly #bytesPerSecond: number;
  readonly #notes: string[] = [];

  constructor(session: BackupSession, options: TakeOptions) {
    this.#session = session;
    this.#options = options;
    const isBounded = session.isShared && !options.isFullSpeed;
    this.#bytesPerSecond = isBounded ? backupBytesPerSecond : 0;
  }

  /** Rejects with an Error for the operator, or an EngineError, without leaving a backup. */
  async run(): Promise<TakenBackup> {
    const { place } = this.#options;
    // The other run may be on another machine, so this one cannot check it.
    const words = 'belongs to an interrupted or running backup; remove it if no other backup runs';
    this.#notes.push(...(await place.unfinished()).map((name) => `${place.path(name)} ${words}`));
    const erasures = (await readControlState(this.#session.storage)).erasures();
    const finished = finishedIds(erasures);
    if (finished.length < erasures.length)
      this.#notes.push('an erasure of a person is in progress; a restored server continues it');
    const base = await this.#base(finished);
    if (base === undefined) await this.#requireRoom();
    this.#id = await place.nextId(Date.now());
    const directory = await place.begin(this.#id);
    try {
      const record = await this.#write(directory, base, erasures);
      const { files } = await place.finish(this.#id, (bytes) => this.#pause(bytes));
      return { record, files, notes: this.#notes };
    } catch (error) {
      await place.abandon(this.#id).catch(() => undefined);
      throw error;
    }
  }

  /** The newest full backup, unless its last increment is large, or it has a person who was erased since. */
  async #base(finished: readonly string[]): Promise<BackupRecord | undefined> {
    const { place, isFull } = this.#options;
    if (isFull || (await place.ids()).length === 0) return undefined;
    const [base, newest] = await place.chainOf();
    if (base === undefined) return undefined;
    if (newest !== undefined && newest.bytes > base.bytes * backupIncrementShareMax) return undefined;
    if (finished.every((id) => base.erasures.includes(id))) return base;
    this.#notes.push(
      'a person was erased since the earlier backups, so this one is full; remove the earlier ones to forget that person there, too',
    );
    return undefined;
  }

  async #write(
    directory: string,
    base: BackupRecord | undefined,
    erasures: readonly StoredErasure[],
  ): Promise<BackupRecord> {
    const { storage, config } = this.#session;
    const { place, momentMs } = this.#options;
    let bytes = 0;
    let events = 0;
    for (const step of stepNames) {
      if (step === 'events') events = await this.#events();
      bytes += await copyTables(storage, step, {
        id: this.#id,
        to: directory,
        base: base && place.path(base.id),
        bytesPerSecond: this.#bytesPerSecond,
      });
    }
    const written = await bytesBelow(directory);
    if (written !== bytes)
      throw new Error(
        `The engine wrote ${written} of ${bytes} bytes to ${place.name}; free some space on its disk, and check it`,
      );
    const now = await readControlState(storage);
    // The journal would say that events are without a person, though they were copied before.
    if (!isDeepStrictEqual(now.erasures(), erasures))
      throw new Problem('conflict', 'an erasure of a person began or ended meanwhile; run this again');
    const answers = Readable.from(readAnswers(config.dataDir, momentMs));
    await pipeline(answers, createWriteStream(join(directory, answersName), { mode: 0o600 }));
    const record: BackupRecord = {
      release: version(),
      id: this.#id,
      moment: new Date(momentMs).toISOString(),
      base: base?.id ?? null,
      database: storage.database,
      migration: await newestMigration(),
      events,
      organizations: now.organizations().length,
      erasures: finishedIds(erasures),
      secrets: await this.#secrets(directory),
      bytes,
    };
    await writeFile(join(directory, recordName), `${JSON.stringify(record)}\n`, { mode: 0o600 });
    return record;
  }

  async #events(): Promise<number> {
    const [row] = await this.#session.storage.rows<{ events: string }>(
      'SELECT count() AS events FROM events',
    );
    return Number(row?.events);
  }

  async #requireRoom(): Promise<void> {
    const { place } = this.#options;
    const free = await place.freeBytes();
    const [row] = await this.#session.storage.rows<{ bytes: string }>(
      'SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE database = currentDatabase() AND active',
    );
    const needed = Number(row?.bytes) + limits.backupFreeBytesMin;
    if (needed > free)
      throw new Problem(
        'conflict',
        `${place.name} has ${mebibytes(free)} free, and ${mebibytes(needed)} may be needed; free some space, or name another directory`,
      );
  }

  async #pause(bytes: number): Promise<void> {
    if (this.#bytesPerSecond > 0) await sleep((bytes / this.#bytesPerSecond) * 1_000);
  }

  async #secrets(directory: string): Promise<string[]> {
    const { dataDir, sessionSecret, evidenceKey, pseudonymSecret } = this.#session.config;
    if (!this.#options.withSecrets) return [];
    const found: string[] = [];
    await mkdir(join(directory, secretsName), { mode: 0o700 });
    for (const name of secretNames) {
      const text = await readIfThere(join(dataDir, name));
      if (text === undefined) continue;
      await writeFile(join(directory, secretsName, name), text, { mode: 0o600 });
      found.push(name);
    }
    if ([sessionSecret, evidenceKey, pseudonymSecret].some((secret) => secret !== undefined)) {
      const names = 'SESSION_SECRET, EVIDENCE_KEY, PSEUDONYM_SECRET';
      this.#notes.push(`secrets from the environment (${names}) are not in the backup`);
    }
    return found;
  }
}

/** Finished erasures; a backup has the plan of one in progress. */
const finishedIds = (erasures: readonly StoredErasure[]): string[] =>
  erasures.flatMap(({ id, finishedMicros }) => (finishedMicros === undefined ? [] : [id]));

export const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1024 ** 2)} MiB`;
