import { createHash } from 'node:crypto';
import { limits } from './limits.ts';
import { KeyedMutex, Mutex } from '../base/keyed-mutex.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { FifoMap } from '../base/fifo-map.ts';
import type { LogFiles } from './files.ts';

/** The answer to a batch (contract: Ingest). */
export interface BatchAnswer {
  readonly accepted: number;
  readonly rejected: number;
  readonly errors: readonly { readonly index: number; readonly error: string }[];
}

/** What is remembered of one answered request; travels as the notes of its frame, then in a file of its hour. */
interface Entry {
  /** SHA-256 of API key and Idempotency-Key, base64url. */
  readonly id: string;
  /** SHA-256 of the body after decompression. */
  readonly body: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly answer: BatchAnswer;
}

export interface Idempotency {
  /** The id of a key as one API key uses it. */
  id(apiKey: string, idempotencyKey: string): string;
  /** Runs `work` when no other request of this id is under way; those that wait have their turn in order. */
  exclusively<T>(id: string, work: () => Promise<T>): Promise<T>;
  /** What was answered within the window: `undefined` when nothing was, `other` when it was for another body. */
  recall(id: string, bodyHash: string): BatchAnswer | 'other' | undefined;
  /** The notes to write with the batch's frame. */
  notes(id: string, bodyHash: string, answer: BatchAnswer): string;
  /** Makes notes count once their frame is durable. */
  remember(notes: string): void;
  /** Writes notes of stored segments to the file of their hour, durably: the segments are deleted after this. */
  keep(notes: readonly Uint8Array[]): Promise<void>;
  size(): number;
}

const hourMs = 3_600_000;
const nameOfHour = (hour: number): string => `${hour}.answers`;

/**
 * Remembers answers by Idempotency-Key for 24 hours, over restarts. Bounded: past `idempotencyKeysMax` keys or
 * `idempotencyBytesMax` bytes the oldest are forgotten first.
 */
export async function openIdempotency(
  files: LogFiles,
  nowMs: () => number,
  log: Logger,
): Promise<Idempotency> {
  const entries = new FifoMap<{ entry: Entry; bytes: number }>();
  /** By id. */
  const requests = new KeyedMutex();
  let bytes = 0;

  function put(entry: Entry, size: number): void {
    bytes += size - (entries.get(entry.id)?.bytes ?? 0);
    entries.set(entry.id, { entry, bytes: size });
    for (let oldest = entries.oldest(); oldest !== undefined; oldest = entries.oldest()) {
      const expired = nowMs() - oldest.entry.at >= limits.idempotencyWindowMs;
      if (!expired && entries.size <= limits.idempotencyKeysMax && bytes <= limits.idempotencyBytesMax) break;
      entries.removeOldest();
      bytes -= oldest.bytes;
    }
  }

  function load(text: string, origin: string): void {
    for (const line of text.split('\n')) {
      if (line === '') continue;
      try {
        put(JSON.parse(line) as Entry, line.length);
      } catch (error) {
        // A line that a crash cut short was not yet relied on: its segment is still in the log and brings it again.
        log.warn({ origin, ...errorFacts(error) }, 'skipped an unfinished line of remembered answers');
      }
    }
  }

  const hoursKept = limits.idempotencyWindowMs / hourMs + 1;
  async function removeOld(): Promise<void> {
    const oldest = Math.floor(nowMs() / hourMs) - hoursKept;
    for (const name of await files.list()) {
      const hour = /^(\d+)\.answers$/.exec(name)?.[1];
      if (hour !== undefined && Number(hour) < oldest) await files.remove(name);
    }
  }

  await removeOld();
  for (const name of await files.list()) {
    if (name.endsWith('.answers')) load((await files.read(name)).toString('utf8'), name);
  }
  let cleaned = Math.floor(nowMs() / hourMs);

  async function keep(notes: readonly Uint8Array[]): Promise<void> {
    if (notes.length === 0) return;
    const hour = Math.floor(nowMs() / hourMs);
    const name = nameOfHour(hour);
    const exists = (await files.list()).includes(name);
    const file = exists ? await files.open(name) : await files.create(name);
    try {
      // The newline comes first: it also ends a line that a crash cut short.
      const lines = notes.flatMap((note) => [Buffer.from('\n'), Buffer.from(note)]);
      await file.append(lines);
    } finally {
      await file.close();
    }
    if (!exists) await files.syncDirectory();
    if (hour !== cleaned) {
      cleaned = hour;
      await removeOld();
    }
  }

  const keeping = new Mutex();
  return {
    id: (apiKey, key) => createHash('sha256').update(apiKey).update('\0').update(key).digest('base64url'),
    exclusively: (id, work) => requests.run(id, work),
    recall(id, bodyHash) {
      const found = entries.get(id)?.entry;
      if (!found || nowMs() - found.at >= limits.idempotencyWindowMs) return undefined;
      return found.body === bodyHash ? found.answer : 'other';
    },
    notes: (id, bodyHash, answer) =>
      JSON.stringify({ id, body: bodyHash, at: nowMs(), answer } satisfies Entry),
    remember: (notes) => put(JSON.parse(notes) as Entry, notes.length),
    // Two segments may be stored at the same time, but a file has one end.
    keep: (notes) => keeping.run(() => keep(notes)),
    size: () => entries.size,
  };
}
