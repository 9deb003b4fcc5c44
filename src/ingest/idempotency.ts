import { createHash } from 'node:crypto';
import { FifoMap } from '../base/waiting/fifo-map.ts';
import { KeyedMutex } from '../base/waiting/keyed-mutex.ts';
import type { Logger } from '../base/observability/log.ts';
import { counter } from '../base/observability/metrics.ts';
import type { Block, Rest } from './answer-files.ts';
import {
  type BatchAnswer,
  decodeErrors,
  decodeRecord,
  digestBytes,
  digestOf,
  type Entry,
  encodeRecord,
  errorsOf,
  type KeptErrors,
  entryOf,
  timeOf,
} from './answer-records.ts';
import { AnswerStore, type StoreBounds } from './answer-store.ts';
import { AnswerTable, type TableBounds } from './answer-table.ts';
import type { LogFiles } from './files.ts';
import { limits } from './limits.ts';
import type { Wal } from './wal.ts';

const idempotencyForgottenLogMs = 600_000;

function digest(...parts: readonly string[]): string {
  const hash = createHash('sha256').update(parts.join('\0'));
  return hash.digest().toString('base64url', 0, digestBytes);
}

/** Digest of a body (its SHA-256 after decompression) and of its kind, as the same bytes can be of either. */
export function sentOf(hash: string, form: string, adapter = '', org = ''): string {
  return digest(hash, form, adapter, org);
}

export interface AnswerBounds extends TableBounds, StoreBounds {}

const errorsOverheadBytes = 256;

/**
 * Remembers answers by Idempotency-Key for 24 hours, over restarts. Beyond its bounds it forgets the oldest
 * chunk of keys, or the oldest errors, and logs that. A request whose errors alone are forgotten is still not
 * stored again.
 */
export class Idempotency {
  readonly #store: AnswerStore;
  readonly #nowMs: () => number;
  readonly #log: Logger;
  readonly #errorsBytesMax: number;
  readonly #answers: AnswerTable;
  readonly #errors = new FifoMap<KeptErrors>();
  #errorsBytes = 0;
  readonly #requests = new KeyedMutex();
  readonly #forgotten = counter(
    'auditlog_idempotency_forgotten_total',
    'Idempotency keys whose answer or errors were forgotten within 24 hours, as there were too many',
    [],
  );
  #loggedMs = Number.NEGATIVE_INFINITY;

  private constructor(store: AnswerStore, nowMs: () => number, log: Logger, bounds: AnswerBounds) {
    this.#store = store;
    this.#nowMs = nowMs;
    this.#log = log;
    this.#errorsBytesMax = bounds.idempotencyErrorsBytesMax;
    this.#answers = new AnswerTable(bounds);
  }

  static async open(
    files: LogFiles,
    nowMs: () => number,
    log: Logger,
    bounds: AnswerBounds = limits,
  ): Promise<Idempotency> {
    const store = await AnswerStore.open(files, nowMs, bounds);
    const opened = new Idempotency(store, nowMs, log, bounds);
    for await (const blocks of store.blocks((...what) => opened.#reportSkipped(...what)))
      opened.#load(blocks);
    return opened;
  }

  get size(): number {
    return this.#answers.size;
  }

  id(apiKey: string, idempotencyKey: string): string {
    return digest(apiKey, idempotencyKey);
  }

  exclusively<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#requests.run(id, work);
  }

  /** `undefined` without an answer within 24 hours, `other` if it was for another body. */
  recall(id: string, sent: string): BatchAnswer | 'other' | undefined {
    const found = this.entry(id);
    if (found === undefined) return undefined;
    return found.body === sent ? found.answer : 'other';
  }

  entry(id: string): Entry | undefined {
    const record = this.#answers.find(digestOf(id));
    return record === undefined ? undefined : this.#entryIn(record);
  }

  idOfContent(apiKey: string, sent: string): string {
    // No client's key can contain a line break.
    return this.id(apiKey, `body\n${sent}`);
  }

  notes(id: string, sent: string, answer: BatchAnswer): string {
    return JSON.stringify({ id, body: sent, at: this.#nowMs(), answer } satisfies Entry);
  }

  /** Call once the frame is durable. */
  remember(notes: string): void {
    this.#add(JSON.parse(notes) as Entry);
  }

  async rememberLogged(wal: Pick<Wal, 'sealed' | 'read'>): Promise<void> {
    for (const segment of wal.sealed()) {
      const { frames, release } = await wal.read(segment);
      for (const { notes } of frames) {
        if (notes.length > 0) this.remember(Buffer.from(notes).toString('utf8'));
      }
      release();
    }
  }

  /** Writes notes of stored segments durably, before their files are deleted. */
  keep(notes: readonly Uint8Array[]): Promise<void> {
    return this.#store.keep(notes.map(entryOf));
  }

  #load(blocks: readonly Block[]): void {
    for (const { kind, content } of blocks) {
      if (kind === 'answers') this.#addRecords(content);
      else for (const errors of decodeErrors(content)) this.#addErrors(errors);
    }
  }

  #add(entry: Entry): void {
    const kept = errorsOf(entry);
    for (const errors of kept) this.#addErrors(errors);
    if (kept.length === 0 && entry.answer.errors.length > 0) this.#reportForgotten(1);
    this.#addRecords(encodeRecord(entry));
  }

  #addRecords(records: Uint8Array): void {
    const fromMs = this.#fromMs();
    this.#answers.removeBefore(fromMs);
    this.#reportForgotten(this.#answers.add(records, fromMs));
  }

  #addErrors(errors: KeptErrors): void {
    const fromMs = this.#fromMs();
    if (errors.at < fromMs) return;
    this.#errorsBytes += bytesOf(errors) - bytesOf(this.#errors.get(errors.id));
    this.#errors.set(errors.id, errors);
    for (let oldest = this.#errors.oldest(); oldest !== undefined; oldest = this.#errors.oldest()) {
      const isOver = oldest.at < fromMs;
      if (!isOver && this.#errorsBytes <= this.#errorsBytesMax) break;
      this.#errors.removeOldest();
      this.#errorsBytes -= bytesOf(oldest);
      if (!isOver) this.#reportForgotten(1);
    }
  }

  #entryIn(record: Buffer): Entry | undefined {
    if (timeOf(record) < this.#fromMs()) return undefined;
    return decodeRecord(record, (id) => this.#errorsOf(id));
  }

  #errorsOf(id: string): BatchAnswer['errors'] {
    const kept = this.#errors.get(id);
    if (kept === undefined) return [];
    return JSON.parse(Buffer.from(kept.json).toString('utf8')) as BatchAnswer['errors'];
  }

  #reportForgotten(count: number): void {
    if (count === 0) return;
    this.#forgotten.inc(count);
    const now = performance.now();
    if (now - this.#loggedMs < idempotencyForgottenLogMs) return;
    this.#loggedMs = now;
    this.#log.warn(
      { keys: this.size },
      `Too many Idempotency-Keys; the oldest answers were forgotten within 24 hours`,
    );
  }

  #reportSkipped(file: string, what: Rest): void {
    // A torn end was never relied on: its segment is still in the log.
    if (what === 'end') this.#log.warn({ file }, 'Skipped the torn end of a file of remembered answers');
    else this.#log.error({ file }, 'A file of remembered answers is damaged; the intact blocks were read');
  }

  #fromMs(): number {
    return this.#nowMs() - limits.idempotencyWindowMs + 1;
  }
}

function bytesOf(errors: KeptErrors | undefined): number {
  return errors === undefined ? 0 : errors.json.length + errorsOverheadBytes;
}
