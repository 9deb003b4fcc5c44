import type { Logger } from '../base/log.ts';
import type { LogFiles } from './files.ts';
import { decodeSegment, segmentOfName } from './segment.ts';

/** A segment that takes no more appends. */
export interface SealedSegment {
  readonly number: number;
  readonly rows: number;
  readonly bytes: number;
  /** Left by an earlier process: whether it reached the engine is unknown. */
  readonly recovered: boolean;
  /** When its first rows came, or it was found; by `performance.now()`. */
  readonly sinceMs: number;
}

interface Recovered {
  readonly segments: SealedSegment[];
  /** Names of files that hold nothing. */
  readonly empty: string[];
  /** The last number that is taken; 0 when there is none. */
  readonly highest: number;
}

/** Reads what is left of earlier runs: cuts torn tails, reports damage, and lists the segments that hold rows. */
export async function recover(files: LogFiles, log: Logger): Promise<Recovered> {
  const segments: SealedSegment[] = [];
  const empty: string[] = [];
  let highest = 0;
  for (const name of await files.list()) {
    const number = segmentOfName(name);
    if (number === undefined) continue;
    highest = Math.max(highest, number);
    const file = await files.read(name);
    const content = decodeSegment(file, number);
    const lost = content.damage.filter(({ acknowledged }) => acknowledged);
    for (const { from, to } of lost) {
      const facts = { segment: number, from, to, rowsKept: content.rows, framesKept: content.frames.length };
      log.error(facts, 'acknowledged events are damaged on disk; everything outside this range was kept');
    }
    if (lost.length > 0) await keepCopy(files, name, file);
    const torn = content.damage.length > 0 && lost.length === 0;
    if (torn) {
      log.info(
        { segment: number, cutBytes: file.length - content.intactBytes },
        'cut an unfinished write off the log',
      );
      await cut(files, name, content.intactBytes);
    }
    const bytes = torn ? content.intactBytes : file.length;
    const { rows } = torn ? decodeSegment(file.subarray(0, bytes), number) : content;
    if (rows === 0) empty.push(name);
    else segments.push({ number, rows, bytes, recovered: true, sinceMs: performance.now() });
  }
  return { segments, empty, highest };
}

/** Nothing after the first unfinished frame was acknowledged, so the file may end before it. */
async function cut(files: LogFiles, name: string, length: number): Promise<void> {
  const handle = await files.open(name);
  try {
    await handle.truncate(length);
  } finally {
    await handle.close();
  }
}

/** The damaged file stays beside the log as evidence when its good frames have been sent and it is deleted. */
async function keepCopy(files: LogFiles, name: string, content: Buffer): Promise<void> {
  const copy = name.replace(/wal$/, 'damaged');
  if ((await files.list()).includes(copy)) return;
  const file = await files.create(copy);
  await file.append([content]);
  await file.close();
  await files.syncDirectory();
}
