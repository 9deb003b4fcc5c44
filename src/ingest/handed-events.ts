import { randomUUID } from 'node:crypto';
import { readFile, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32c } from '@node-rs/crc32';
import { makeDirectories, namesIn, replaceFile, syncDirectory } from '../base/files/durable-file.ts';
import { ifThere } from '../base/errors/system-error.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import type { OwnBlock } from './own-events.ts';

/** Time between looks for events that commands have left. */
const handedEventsLookMs = 50;
/** A command waits so long until the server has stored what it left. */
const handedEventsWaitMsMax = 3_000;

/** What stores a block, unless it has stored one of this name within the last 24 hours. */
interface Taker {
  takeOver(name: string, block: OwnBlock): Promise<void>;
  /** Waits until all of it is in the engine; false when `timeoutMs` passed first. */
  flush(timeoutMs: number): Promise<boolean>;
}

const pollMs = 10;
const toldEveryMs = 60_000;
const folderOf = (dataDir: string): string => join(dataDir, 'handed-events');

/**
 * Leaves events of a command to the server that runs on the data directory, or to the next one. Resolves when they
 * survive a power cut and the server has stored them, or does not come to it in time.
 */
export async function handEvents(dataDir: string, { payload, rows }: OwnBlock): Promise<void> {
  const folder = folderOf(dataDir);
  await makeDirectories(folder);
  await syncDirectory(dataDir);
  const base64 = Buffer.from(payload).toString('base64');
  const content = { rows, checksum: crc32c(payload), payload: base64 };
  const path = join(folder, `${randomUUID()}.events`);
  await replaceFile(path, JSON.stringify(content));
  const deadline = performance.now() + handedEventsWaitMsMax;
  while (performance.now() < deadline && (await ifThere(stat(path))) !== undefined) await sleep(pollMs);
}

/**
 * Takes over what commands have left, each file once: a crash may come between the log and the removal of the file, so
 * its name counts as an Idempotency-Key.
 */
export class HandedEvents {
  readonly #dataDir: string;
  readonly #log: Logger;
  readonly #ingest: Taker;
  readonly #looking: Repeated;
  #last = Promise.resolve();
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(dataDir: string, ingest: Taker, log: Logger) {
    this.#dataDir = dataDir;
    this.#ingest = ingest;
    this.#log = log;
    this.#looking = new Repeated(
      handedEventsLookMs,
      () => this.take(),
      (error) => this.#tell(error),
    );
  }

  /** Takes over what is there; one call at a time. */
  take(): Promise<void> {
    const taking = this.#last.then(() => this.#takeAll());
    // A failure is told to whoever asked, and the next call tries again.
    this.#last = taking.catch(() => undefined);
    return taking;
  }

  async #takeAll(): Promise<void> {
    const folder = folderOf(this.#dataDir);
    const taken: string[] = [];
    for (const name of await namesIn(folder)) {
      if (!name.endsWith('.events')) continue;
      const path = join(folder, name);
      const block = blockOf(await readFile(path, 'utf8'));
      if (block === undefined) {
        await rename(path, `${path}.damaged`);
        this.#log.error(
          { path: `${path}.damaged` },
          'events that a command has left are damaged; they are kept',
        );
        continue;
      }
      await this.#ingest.takeOver(name, block);
      taken.push(path);
    }
    if (taken.length === 0) return;
    // The command waits for its file to go, and whoever ran it may look for the event then.
    await this.#ingest.flush(handedEventsWaitMsMax);
    for (const path of taken) await unlink(path);
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  /** A log that is full stays so for many looks. */
  #tell(error: unknown): void {
    const now = performance.now();
    if (now - this.#toldMs < toldEveryMs) return;
    this.#toldMs = now;
    this.#log.warn(errorFacts(error), 'events of a command could not be taken over yet');
  }
}

function blockOf(text: string): OwnBlock | undefined {
  try {
    const { rows, checksum, payload: base64 } = JSON.parse(text) as Record<string, unknown>;
    const payload = Buffer.from(String(base64), 'base64');
    return crc32c(payload) === checksum && typeof rows === 'number' ? { rows, payload } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
