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

/** That answers are forgotten before their time is logged once in this time. */
const idempotencyForgottenLogMs = 600_000;

function digest(...parts: readonly string[]): string {
  const hash = createHash('sha256').update(parts.join('\0'));
  return hash.digest().toString('base64url', 0, digestBytes);
}

/** What a body was: its hash (SHA-256 after decompression), and what it was taken for; the same bytes can be either. */
export function sentOf(hash: string, form: string, adapter = '', org = ''): string {
  return digest(hash, form, adapter, org);
}

export interface AnswerBounds extends TableBounds, StoreBounds {}

const tooMany = 'there are more answers to requests with an Idempotency-Key than are remembered';
/** What an entry of a map takes beside its bytes. */
const errorsOverheadBytes = 256;

/**
 * Remembers answers by Idempotency-Key for 24 hours, over restarts. Bounded: past `idempotencyChunksMax` chunks of keys
 * the oldest chunk is forgotten, past `idempotencyErrorsBytesMax` bytes the errors of the oldest answers are, and both is
 * told. A request whose errors alone are forgotten is still not stored again.
 */
export class Idempotency {
  readonly #store: AnswerStore;
  readonly #nowMs: () => number;
  readonly #log: Logger;
  readonly #errorsBytesMax: number;
  readonly #answers: AnswerTable;
  /** Apart, as few answers have some. */
  readonly #errors = new FifoMap<KeptErrors>();
  #errorsBytes = 0;
  readonly #requests = new KeyedMutex();
  readonly #forgotten = counter(
    'auditlog_idempotency_forgotten_total',
    'Idempotency keys of which the answer or its errors were forgotten before 24 hours had passed, as there were too many',
    [],
  );
  #toldMs = Number.NEGATIVE_INFINITY;

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
    for await (const blocks of store.blocks((...what) => opened.#tellRest(...what))) opened.#load(blocks);
    return opened;
  }

  get size(): number {
    return this.#answers.size;
  }

  /** The id of a key as one API key uses it. */
  id(apiKey: string, idempotencyKey: string): string {
    return digest(apiKey, idempotencyKey);
  }

  /** Runs `work` when no other request of this id is under way; those that wait have their turn in order. */
  exclusively<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#requests.run(id, work);
  }

  /** What was answered within the window: `undefined` when nothing was, `other` when it was for another body. */
  recall(id: string, sent: string): BatchAnswer | 'other' | undefined {
    const found = this.entry(id);
    if (found === undefined) return undefined;
    return found.body === sent ? found.answer : 'other';
  }

  /** What is remembered of an id within the window. */
  entry(id: string): Entry | undefined {
    const record = this.#answers.find(digestOf(id));
    return record === undefined ? undefined : this.#entryIn(record);
  }

  /** The id of a request whose key is what it holds. */
  idOfContent(apiKey: string, sent: string): string {
    // No key that a client can send has a line break.
    return this.id(apiKey, `body\n${sent}`);
  }

  /** The notes to write with the batch's frame. */
  notes(id: string, sent: string, answer: BatchAnswer): string {
    return JSON.stringify({ id, body: sent, at: this.#nowMs(), answer } satisfies Entry);
  }

  /** Makes notes count once their frame is durable. */
  remember(notes: string): void {
    this.#add(JSON.parse(notes) as Entry);
  }

  /** Remembers the answers of requests whose events have not reached the engine: they are in the log alone. */
  async rememberLogged(wal: Pick<Wal, 'sealed' | 'read'>): Promise<void> {
    for (const segment of wal.sealed()) {
      const { frames, release } = await wal.read(segment);
      for (const { notes } of frames) {
        if (notes.length > 0) this.remember(Buffer.from(notes).toString('utf8'));
      }
      release();
    }
  }

  /** Writes notes of stored segments to the files of their hour, durably: the segments are deleted after this. */
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
    if (kept.length === 0 && entry.answer.errors.length > 0) this.#tellForgotten(1);
    this.#addRecords(encodeRecord(entry));
  }

  #addRecords(records: Uint8Array): void {
    const fromMs = this.#fromMs();
    this.#answers.removeBefore(fromMs);
    this.#tellForgotten(this.#answers.add(records, fromMs));
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
      if (!isOver) this.#tellForgotten(1);
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

  #tellForgotten(count: number): void {
    if (count === 0) return;
    this.#forgotten.inc(count);
    const now = performance.now();
    if (now - this.#toldMs < idempotencyForgottenLogMs) return;
    this.#toldMs = now;
    this.#log.warn({ keys: this.size }, `${tooMany}: the oldest are forgotten before 24 hours have passed`);
  }

  #tellRest(file: string, what: Rest): void {
    // What a crash cut short was not yet relied on: its segment is still in the log and brings it again.
    if (what === 'end')
      this.#log.warn({ file }, 'skipped the unfinished end of a file of remembered answers');
    else this.#log.error({ file }, 'a file of remembered answers is damaged: what is intact was read');
  }

  /** The first moment that is within the window. */
  #fromMs(): number {
    return this.#nowMs() - limits.idempotencyWindowMs + 1;
  }
}

function bytesOf(errors: KeptErrors | undefined): number {
  return errors === undefined ? 0 : errors.json.length + errorsOverheadBytes;
}
