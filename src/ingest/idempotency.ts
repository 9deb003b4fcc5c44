import { createHash } from 'node:crypto';
import { FifoMap } from '../base/fifo-map.ts';
import { KeyedMutex, Mutex } from '../base/keyed-mutex.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { counter } from '../base/metrics.ts';
import { AnswerFiles, answerLines } from './answer-files.ts';
import type { LogFiles } from './files.ts';
import { limits } from './limits.ts';

/** The answer to a batch (contract: Ingest). */
export interface BatchAnswer {
  readonly accepted: number;
  readonly rejected: number;
  readonly errors: readonly { readonly index: number; readonly error: string }[];
}

/** What is remembered of one answered request; travels as the notes of its frame, then in a file of its hour. */
export interface Entry {
  /** SHA-256 of API key and Idempotency-Key, base64url. */
  readonly id: string;
  /** What was sent (`sentOf`). */
  readonly body: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly answer: BatchAnswer;
}

/** What a body was: its hash (SHA-256 after decompression), and what it was taken for; the same bytes can be either. */
export function sentOf(hash: string, form: string, adapter?: string, org?: string): string {
  return `${hash} ${form}${adapter === undefined ? '' : ` ${adapter}`}${org === undefined ? '' : ` org=${org}`}`;
}

const hourMs = 3_600_000;
const tooMany = 'there are more answers to requests with an Idempotency-Key than are remembered';
const hoursKept = limits.idempotencyWindowMs / hourMs + 1;

/**
 * Remembers answers by Idempotency-Key for 24 hours, over restarts. Bounded: past `idempotencyKeysMax` keys or
 * `idempotencyBytesMax` bytes the oldest are forgotten first, and that is told.
 */
export class Idempotency {
  readonly #files: AnswerFiles;
  readonly #nowMs: () => number;
  readonly #log: Logger;
  readonly #entries = new FifoMap<{ readonly entry: Entry; readonly bytes: number }>();
  #bytes = 0;
  readonly #requests = new KeyedMutex();
  /** Two segments may be stored at the same time, but a file has one end. */
  readonly #keeping = new Mutex();
  /** The hour in which old files were last removed. */
  #cleanedHour: number;
  readonly #forgotten = counter(
    'auditlog_idempotency_forgotten_total',
    'Idempotency keys forgotten before 24 hours had passed, as there were too many',
    [],
  );
  #toldMs = Number.NEGATIVE_INFINITY;

  private constructor(files: AnswerFiles, nowMs: () => number, log: Logger) {
    this.#files = files;
    this.#nowMs = nowMs;
    this.#log = log;
    this.#cleanedHour = this.#hour();
  }

  static async open(files: LogFiles, nowMs: () => number, log: Logger): Promise<Idempotency> {
    const opened = new Idempotency(await AnswerFiles.open(files), nowMs, log);
    await opened.#files.removeBefore(opened.#hour() - hoursKept);
    const skipped = (bytes: number): void => log.warn({ bytes }, `${tooMany}: some are not read`);
    for await (const { name, lines } of opened.#files.lines(skipped)) opened.#load(lines, name);
    return opened;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The id of a key as one API key uses it. */
  id(apiKey: string, idempotencyKey: string): string {
    return createHash('sha256').update(apiKey).update('\0').update(idempotencyKey).digest('base64url');
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
    const found = this.#entries.get(id)?.entry;
    return found === undefined || this.#hasExpired(found) ? undefined : found;
  }

  /** All that is remembered, oldest first. */
  all(): Entry[] {
    return [...this.#entries.values()].map(({ entry }) => entry).filter((entry) => !this.#hasExpired(entry));
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
    const entry = JSON.parse(notes) as Entry;
    this.#bytes += notes.length - (this.#entries.get(entry.id)?.bytes ?? 0);
    this.#entries.set(entry.id, { entry, bytes: notes.length });
    for (let oldest = this.#entries.oldest(); oldest !== undefined; oldest = this.#entries.oldest()) {
      const isFull =
        this.#entries.size > limits.idempotencyKeysMax || this.#bytes > limits.idempotencyBytesMax;
      const isOver = this.#hasExpired(oldest.entry);
      if (!isFull && !isOver) break;
      if (!isOver) this.#tellForgotten();
      this.#entries.removeOldest();
      this.#bytes -= oldest.bytes;
    }
  }

  /** Remembers, durably, what another process has in its files. Repeating it does no harm. */
  async adopt(files: LogFiles): Promise<void> {
    for await (const lines of answerLines(files)) {
      this.#load(lines, 'another process');
      await this.keep(lines.map((line) => Buffer.from(line)));
    }
  }

  /** Remembers, durably, the notes of segments of another process. */
  async adoptNotes(notes: readonly Uint8Array[]): Promise<void> {
    for (const note of notes) this.remember(Buffer.from(note).toString('utf8'));
    await this.keep(notes);
  }

  /** Writes notes of stored segments to the file of their hour, durably: the segments are deleted after this. */
  keep(notes: readonly Uint8Array[]): Promise<void> {
    return this.#keeping.run(() => this.#keep(notes));
  }

  async #keep(notes: readonly Uint8Array[]): Promise<void> {
    if (notes.length === 0) return;
    const hour = this.#hour();
    await this.#files.append(hour, notes);
    if (hour === this.#cleanedHour) return;
    this.#cleanedHour = hour;
    await this.#files.removeBefore(hour - hoursKept);
  }

  #load(lines: readonly string[], origin: string): void {
    for (const line of lines) {
      try {
        this.remember(line);
      } catch (error) {
        // A line that a crash cut short was not yet relied on: its segment is still in the log and brings it again.
        this.#log.warn({ origin, ...errorFacts(error) }, 'skipped an unfinished line of remembered answers');
      }
    }
  }

  #tellForgotten(): void {
    this.#forgotten.inc();
    const now = performance.now();
    if (now - this.#toldMs < limits.idempotencyForgottenLogMs) return;
    this.#toldMs = now;
    this.#log.warn(
      { keys: this.#entries.size },
      `${tooMany}: the oldest are forgotten before 24 hours have passed`,
    );
  }

  #hasExpired({ at }: Entry): boolean {
    return this.#nowMs() - at >= limits.idempotencyWindowMs;
  }

  #hour(): number {
    return Math.floor(this.#nowMs() / hourMs);
  }
}
