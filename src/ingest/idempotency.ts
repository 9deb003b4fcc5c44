import { createHash } from 'node:crypto';
import { FifoMap } from '../base/waiting/fifo-map.ts';
import { KeyedMutex } from '../base/waiting/keyed-mutex.ts';
import type { Logger } from '../base/observability/log.ts';
import { counter } from '../base/observability/metrics.ts';
import type { Rest } from './answer-files.ts';
import {
  type BatchAnswer,
  digestBytes,
  type Entry,
  entryIn,
  entryOf,
  hasErrors,
  type Kept,
  keptOf,
  timeOf,
} from './answer-records.ts';
import { AnswerStore, type StoreBounds } from './answer-store.ts';
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

export interface AnswerBounds extends StoreBounds {
  readonly idempotencyKeysMax: number;
}

const errorsBytes = (text: string): number => text.length + 256;

/** Texts (answer-records.ts) by id, the newest as far as the sum of their sizes is not above a bound. */
class BoundedTexts {
  readonly #texts = new FifoMap<string>();
  readonly #sizeMax: number;
  readonly #sizeOf: (text: string) => number;
  #size = 0;

  constructor(sizeMax: number, sizeOf: (text: string) => number) {
    this.#sizeMax = sizeMax;
    this.#sizeOf = sizeOf;
  }

  get count(): number {
    return this.#texts.size;
  }

  get(id: string): string | undefined {
    return this.#texts.get(id);
  }

  /** Returns how many texts not older than `fromMs` (Unix) it removed. */
  add(id: string, text: string, fromMs: number): number {
    if (timeOf(text) >= fromMs) {
      const replaced = this.#texts.get(id);
      this.#size += this.#sizeOf(text) - (replaced === undefined ? 0 : this.#sizeOf(replaced));
      this.#texts.set(id, text);
    }
    let forgotten = 0;
    for (let oldest = this.#texts.oldest(); oldest !== undefined; oldest = this.#texts.oldest()) {
      const isOver = timeOf(oldest) < fromMs;
      if (!isOver && this.#size <= this.#sizeMax) break;
      this.#texts.removeOldest();
      this.#size -= this.#sizeOf(oldest);
      if (!isOver) forgotten += 1;
    }
    return forgotten;
  }
}

/**
 * Remembers answers by Idempotency-Key for 24 hours, over restarts. Beyond its bounds it forgets the oldest
 * keys, or the oldest errors, and logs that. A request whose errors alone are forgotten is still not
 * stored again.
 */
export class Idempotency {
  readonly #store: AnswerStore;
  readonly #nowMs: () => number;
  readonly #log: Logger;
  readonly #answers: BoundedTexts;
  readonly #errors: BoundedTexts;
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
    this.#answers = new BoundedTexts(bounds.idempotencyKeysMax, () => 1);
    this.#errors = new BoundedTexts(bounds.idempotencyErrorsBytesMax, errorsBytes);
  }

  static async open(
    files: LogFiles,
    nowMs: () => number,
    log: Logger,
    bounds: AnswerBounds = limits,
  ): Promise<Idempotency> {
    const store = await AnswerStore.open(files, nowMs, bounds);
    const opened = new Idempotency(store, nowMs, log, bounds);
    for await (const kept of store.kept((...what) => opened.#reportSkipped(...what))) opened.#add(kept);
    return opened;
  }

  get size(): number {
    return this.#answers.count;
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
    const text = this.#answers.get(id);
    if (text === undefined || timeOf(text) < this.#fromMs()) return undefined;
    return entryIn(id, text, this.#errors.get(id));
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
    const entry = JSON.parse(notes) as Entry;
    const kept = keptOf(entry);
    if (entry.answer.errors.length > 0 && !kept.some(([, text]) => hasErrors(text))) this.#reportForgotten(1);
    this.#add(kept);
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
    return this.#store.keep(notes.flatMap((one) => keptOf(entryOf(one))));
  }

  #add(kept: readonly Kept[]): void {
    const fromMs = this.#fromMs();
    for (const [id, text] of kept) {
      const texts = hasErrors(text) ? this.#errors : this.#answers;
      this.#reportForgotten(texts.add(id, text, fromMs));
    }
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
    else this.#log.error({ file }, 'A file of remembered answers is damaged; the intact lines were read');
  }

  #fromMs(): number {
    return this.#nowMs() - limits.idempotencyWindowMs + 1;
  }
}
