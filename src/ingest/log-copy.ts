import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn } from '../base/files/durable-file.ts';
import { nextSegmentNumber } from '../base/events/sequence.ts';
import { ifThere } from '../base/errors/system-error.ts';
import { besideLog, openLogFiles } from './files.ts';
import { keptIn, keptInFiles } from './answer-files.ts';
import { encodeLine, timeOf } from './answer-records.ts';
import { AnswerStore } from './answer-store.ts';
import { encodeHead } from './log-head.ts';
import { encodeOrder } from './order-numbers.ts';
import {
  assess,
  encodeFileHeader,
  encodeManifestFrame,
  factsWith,
  fileHeaderBytes,
  frameSeed,
  scanSegment,
  segmentName,
  segmentOfName,
} from './segment.ts';

/**
 * Events of each segment in a data directory's log, by number, without empty ones. Only reads, so a server
 * may run there: a segment is gone once its events are in the table.
 */
export async function eventsInLog(dataDir: string): Promise<Map<number, number>> {
  const directory = join(dataDir, 'wal');
  const events = new Map<number, number>();
  for (const name of await namesIn(directory)) {
    const number = segmentOfName(name);
    if (number === undefined) continue;
    const file = await ifThere(readFile(join(directory, name)));
    if (file === undefined) continue;
    const { rows, damage } = assess(scanSegment(file, number), fileHeaderBytes);
    if (rows > 0 || damage.length > 0) events.set(number, rows);
  }
  return events;
}

/**
 * Remembered answers from before `beforeMs` (Unix), as lines of files. Errors come last, so each
 * answer in the copy has its errors.
 */
export async function* readAnswers(dataDir: string, beforeMs: number): AsyncGenerator<Uint8Array> {
  const directory = join(dataDir, 'idempotency');
  if ((await namesIn(directory)).length === 0) return;
  const files = await openLogFiles(directory);
  const rest = (): void => undefined;
  for (const kind of ['answers', 'errors'] as const)
    for await (const kept of keptInFiles(files, kind, rest))
      yield Buffer.from(
        kept
          .filter(([, text]) => timeOf(text) < beforeMs)
          .map(encodeLine)
          .join(''),
      );
}

/**
 * Creates a log without events and with the given answers in a data directory that has none. Its numbers
 * continue above `after`, even if the clock is behind.
 */
export async function makeLog(
  dataDir: string,
  answers: AsyncIterable<Uint8Array>,
  after: number,
): Promise<void> {
  const files = await openLogFiles(join(dataDir, 'wal'));
  const number = nextSegmentNumber(Date.now(), 0, after);
  const position = { seed: frameSeed(number), firstRow: 0, durableBytes: fileHeaderBytes };
  const frame = encodeManifestFrame({ version: 1, entries: [] }, position);
  const file = await files.create(segmentName(number));
  try {
    await file.append([encodeFileHeader(number), ...frame.parts]);
  } finally {
    await file.close();
  }
  await files.syncDirectory();
  const open = { number, ...factsWith({ bytes: fileHeaderBytes, rows: 0, checksum: 0 }, [frame]) };
  await files.head.write(encodeHead({ newest: number, closed: { waiting: 0, open } }));
  await files.order.write(encodeOrder({ through: after, taken: new Map() }));
  const store = await AnswerStore.open(await openLogFiles(join(dataDir, 'idempotency')), Date.now);
  const unknown = (): never => {
    throw new Error('The remembered answers in the backup are damaged');
  };
  for await (const kept of keptIn(answers, unknown)) await store.keep(kept);
}

export async function removeLog(dataDir: string): Promise<void> {
  for (const name of ['head', 'order'] as const) await besideLog(join(dataDir, 'wal'), name).remove();
  for (const name of ['wal', 'idempotency']) await rm(join(dataDir, name), { recursive: true, force: true });
}
