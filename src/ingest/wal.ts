import { isDiskFull } from '../base/full-disk.ts';
import { limits } from '../base/limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { Problem } from '../base/problem.ts';
import type { LogFile, LogFiles } from './files.ts';
import {
  decodeSegment,
  encodeFileHeader,
  encodeFrame,
  fileHeaderBytes,
  type FrameInput,
  frameHeaderBytes,
  type SegmentContent,
  segmentName,
  segmentOfName,
} from './segment.ts';
import { nextSegmentNumber, rowsPerSegmentMax } from './sequence.ts';

export interface WalOptions {
  readonly files: LogFiles;
  readonly log: Logger;
  /** Bytes at which the open segment is sealed. */
  readonly segmentBytes: number;
  /** Bytes of all segments together above which appends are refused. */
  readonly bytesMax: number;
  readonly writer: number;
  readonly nowMs: () => number;
}

export interface SealedSegment {
  readonly number: number;
  readonly rows: number;
  readonly bytes: number;
  /** Left by an earlier process: whether it reached the engine is unknown. */
  readonly recovered: boolean;
  /** When its first rows came, or it was found; by `performance.now()`. */
  readonly sinceMs: number;
}

export interface Wal {
  /**
   * Appends frames to the open segment and resolves with its number when they survive a power cut. Concurrent calls
   * share one sync. Rejects with a 503 Problem, having stored nothing, when the log is full or the disk fails.
   */
  append(frames: readonly FrameInput[]): Promise<number>;
  /**
   * Closes the open segment if it holds rows; it is then in `sealed()`. Appends go on into it until the next one is
   * on disk.
   */
  seal(): Promise<void>;
  sealed(): readonly SealedSegment[];
  /** For how long the oldest rows that are not in the engine have waited, some segments aside; 0 when there are none. */
  waitingMs(without?: ReadonlySet<number>): number;
  /** Called after a segment was sealed, and after the first append to an empty one. */
  onChange(listener: { sealed(): void; started(): void }): void;
  read(segment: SealedSegment): Promise<SegmentContent>;
  /** Deletes a segment that has reached the engine. */
  release(segment: SealedSegment): Promise<void>;
  /** Keeps a segment as `<number>.refused` (by the engine, for its content) or `.damaged`, outside of the log. */
  setAside(segment: SealedSegment, why: 'refused' | 'damaged'): Promise<void>;
  /**
   * The lowest segment number whose rows may not be in the engine yet: what comes later is not below it. An idle log
   * takes a new number first, so that it does not hold back what others write.
   */
  lowestUnsettled(): Promise<number>;
  /** Whether every row up to and in this segment is in the engine. */
  isStored(segment: number): boolean;
  /** The last segment that earlier processes left; 0 when there is none. */
  readonly lastRecovered: number;
  bytes(): number;
  /** Undefined while appends work; otherwise why they do not. */
  failure(): string | undefined;
  close(): Promise<void>;
}

interface OpenSegment {
  readonly number: number;
  readonly file: LogFile;
  bytes: number;
  rows: number;
  /** Of its first rows. */
  sinceMs: number;
}

/** The segment after the open one, begun ahead of need. */
interface ComingSegment {
  readonly number: number;
  readonly segment: Promise<OpenSegment>;
  state: 'pending' | 'ready' | 'failed';
}

interface Waiting {
  readonly frames: readonly FrameInput[];
  readonly bytes: number;
  readonly rows: number;
  resolve(segment: number): void;
  reject(error: unknown): void;
}

/** One sync covers at most this much, so that the first of a long queue does not wait for the last. */
const groupBytesMax = 16 * 1024 * 1024;
/** A segment takes appends until the next one is there, but not beyond twice its size, nor so many that no read takes it. */
const overfullBytesMax = 1024 ** 3;

function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('unavailable', detail, { retryAfterSeconds: limits.walRetryAfterSeconds, cause });
}

/** Opens the log: what an earlier process left becomes sealed segments, and a new open segment is begun. */
export async function openWal(options: WalOptions): Promise<Wal> {
  const { files, log, segmentBytes, bytesMax } = options;
  const overfullBytes = Math.max(segmentBytes, Math.min(segmentBytes * 2, overfullBytesMax));
  const recovered = await recover(files, log);
  let sealed: SealedSegment[] = recovered.segments;
  let highest = recovered.highest;
  /** Number of the newest segment that is surely on disk. */
  let newest = 0;
  const leftovers = new Set<string>();
  let coming: ComingSegment | undefined;
  let failure: string | undefined;
  let open: OpenSegment | undefined = await beginFirst();
  let totalBytes = sealed.reduce(
    (sum, segment) => sum + segment.bytes,
    open === undefined ? 0 : fileHeaderBytes,
  );
  let closed = false;
  let listener = { sealed() {}, started() {} };

  const appends: Waiting[] = [];
  const seals: Waiting[] = [];
  let waitingBytes = 0;
  /** Size of the last append that did not fit: the log counts as full until it would, or another does. */
  let refusedBytes = 0;
  let isWorking = false;
  let working = Promise.resolve();
  let probing: NodeJS.Timeout | undefined;

  async function begin(number: number): Promise<OpenSegment> {
    const name = segmentName(number);
    const file = await files.create(name);
    highest = number;
    // Until it is whole and known to last; then nothing needs the ones that failed before it.
    leftovers.add(name);
    try {
      await file.append([encodeFileHeader(number)]);
      await files.syncDirectory();
    } catch (error) {
      await closeFile(file);
      // Nothing knows of it yet, and a disk that is full for hours must not collect one for each attempt.
      await removeLeftover(name);
      throw error;
    }
    newest = number;
    leftovers.delete(name);
    await removeLeftovers();
    return { number, file, bytes: fileHeaderBytes, rows: 0, sinceMs: 0 };
  }

  /** The first segment of this process; undefined on a full disk, which is no reason not to serve what is stored. */
  async function beginFirst(): Promise<OpenSegment | undefined> {
    const number = nextSegmentNumber(options.nowMs(), options.writer, highest);
    for (const name of recovered.empty) leftovers.add(name);
    try {
      return await begin(number);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      failure = errorFacts(error).code ?? 'full';
      log.error(
        { segment: number, ...errorFacts(error) },
        'the disk is full: the write-ahead log takes no writes until there is room; reads go on',
      );
      // It stays, as the number that all later ones are above.
      newest = recovered.highest;
      return undefined;
    }
  }

  /** What cannot be removed now is tried again with the next segment. */
  async function removeLeftovers(): Promise<void> {
    for (const name of leftovers) await removeLeftover(name);
  }

  async function removeLeftover(name: string): Promise<void> {
    try {
      await files.remove(name);
      leftovers.delete(name);
    } catch (error) {
      log.warn({ name, ...errorFacts(error) }, 'a file of the log that nothing needs could not be removed');
    }
  }

  /** All in it is durable, or not needed. */
  async function closeFile(file: LogFile): Promise<void> {
    try {
      await file.close();
    } catch (error) {
      log.warn(errorFacts(error), 'a file of the log could not be closed');
    }
  }

  function prepare(): ComingSegment {
    const number = nextSegmentNumber(options.nowMs(), options.writer, highest);
    const begun: ComingSegment = { number, segment: begin(number), state: 'pending' };
    // Whoever takes it hears of a failure.
    const settled = begun.segment.then(
      () => 'ready' as const,
      () => 'failed' as const,
    );
    void settled.then((state) => {
      begun.state = state;
      wake();
    });
    return begun;
  }

  /** Seals the open segment if it holds rows, or renews it if it is stale; waits for the next one where it must. */
  async function rotate(): Promise<OpenSegment> {
    if (open !== undefined && open.rows === 0 && !isStale()) return open;
    const old = open;
    if (old !== undefined && old.rows > 0) {
      open = undefined;
      const { number, rows, bytes, sinceMs } = old;
      sealed.push({ number, rows, bytes, recovered: false, sinceMs });
      listener.sealed();
    }
    // One that failed for a segment that has failed since then says nothing of the disk as it is now.
    if (coming === undefined || (old === undefined && coming.state === 'failed')) coming = prepare();
    try {
      open = await coming.segment;
    } finally {
      coming = undefined;
      if (old !== undefined && old.rows > 0) await closeFile(old.file);
    }
    totalBytes += fileHeaderBytes;
    if (old !== undefined && old.rows === 0) {
      totalBytes -= old.bytes;
      await closeFile(old.file);
      leftovers.add(segmentName(old.number));
      await removeLeftovers();
    }
    return open;
  }

  /**
   * Whether a seal is asked for and can be done at once: the next segment is begun while the open one goes on taking
   * appends, as making a file durable waits for whatever else the disk has to sync.
   */
  function mayRotate(): boolean {
    const isFull = open !== undefined && open.rows > 0 && open.bytes >= segmentBytes;
    if (seals.length === 0 && !isFull) return false;
    if (open === undefined || open.rows === 0) return true;
    coming ??= prepare();
    return coming.state !== 'pending';
  }

  /** True for an open segment that is empty and has been for a while. */
  function isStale(): boolean {
    if (closed || open === undefined || open.rows > 0) return false;
    return nextSegmentNumber(options.nowMs() - limits.walNumberAgeMsMax, options.writer, 0) > open.number;
  }

  /** Returns the segment that the group is in. */
  async function write(group: readonly Waiting[]): Promise<number> {
    let segment = open ?? (await rotate());
    const rows = group.reduce((sum, waiting) => sum + waiting.rows, 0);
    if (segment.bytes >= overfullBytes || segment.rows + rows > rowsPerSegmentMax) segment = await rotate();
    const durable = segment.bytes;
    const parts: Uint8Array[] = [];
    let row = segment.rows;
    let bytes = durable;
    for (const { frames } of group) {
      for (const [index, frame] of frames.entries()) {
        const place = { firstRow: row, following: frames.length - 1 - index, durableBytes: durable };
        for (const part of encodeFrame(frame, place)) {
          parts.push(part);
          bytes += part.length;
        }
        row += frame.rows;
      }
    }
    try {
      await segment.file.append(parts);
    } catch (error) {
      await abandon(segment, error);
      throw error;
    }
    const first = segment.rows === 0;
    totalBytes += bytes - durable;
    segment.bytes = bytes;
    segment.rows = row;
    if (first) {
      segment.sinceMs = performance.now();
      listener.started();
    }
    return segment.number;
  }

  /**
   * After a failed write or sync nobody knows what reached the disk, and a second sync may lie. The segment ends at
   * what was durable before; the next append begins a new one.
   */
  async function abandon(segment: OpenSegment, cause: unknown): Promise<void> {
    log.error({ segment: segment.number, ...errorFacts(cause) }, 'the write-ahead log could not be written');
    open = undefined;
    if (segment.rows > 0) {
      const { number, rows, bytes, sinceMs } = segment;
      sealed.push({ number, rows, bytes, recovered: false, sinceMs });
      listener.sealed();
    }
    try {
      await segment.file.truncate(segment.bytes);
    } catch (error) {
      log.warn(
        { segment: segment.number, ...errorFacts(error) },
        'the end of a failed segment could not be cut',
      );
    }
    await closeFile(segment.file);
    // Its file stays until there is a newer one: see `outlive`.
    if (segment.rows === 0) {
      leftovers.add(segmentName(segment.number));
      totalBytes -= segment.bytes;
    }
  }

  function takeGroup(): Waiting[] {
    const group: Waiting[] = [];
    let bytes = 0;
    let rows = 0;
    while (appends.length > 0) {
      const next = appends[0] as Waiting;
      if (group.length > 0 && (bytes + next.bytes > groupBytesMax || rows + next.rows > rowsPerSegmentMax))
        break;
      group.push(next);
      appends.shift();
      bytes += next.bytes;
      rows += next.rows;
    }
    waitingBytes -= bytes;
    return group;
  }

  async function settle(group: readonly Waiting[], work: () => Promise<number>): Promise<void> {
    try {
      const segment = await work();
      failure = undefined;
      for (const waiting of group) waiting.resolve(segment);
    } catch (error) {
      failure = errorFacts(error).code ?? 'the disk fails';
      const problem = unavailable('The events could not be made durable; try again later.', error);
      for (const waiting of group) waiting.reject(problem);
      probe();
    }
  }

  /** Tries a write of its own until one works: an idle log must not look broken for ever after one fault. */
  function probe(): void {
    if (closed || probing !== undefined) return;
    probing = setTimeout(() => {
      probing = undefined;
      void enqueue(seals, []).catch((error: unknown) => log.debug(errorFacts(error), 'the log still fails'));
    }, limits.walProbeMs);
    probing.unref();
  }

  async function work(): Promise<void> {
    while (appends.length > 0 || mayRotate()) {
      if (appends.length > 0) {
        const group = takeGroup();
        await settle(group, () => write(group));
      }
      if (mayRotate()) await settle(seals.splice(0), async () => (await rotate()).number);
    }
    isWorking = false;
  }

  const isBusy = (): boolean => isWorking || coming?.state === 'pending';

  function wake(): void {
    if (isWorking) return;
    isWorking = true;
    working = work();
  }

  /** Resolves with the segment that the frames are in, or that is open after a seal. */
  function enqueue(queue: Waiting[], frames: readonly FrameInput[]): Promise<number> {
    return new Promise((resolve, reject) => {
      const bytes = frames.reduce(
        (sum, f) => sum + frameHeaderBytes + f.payload.length + f.notes.length * 3,
        0,
      );
      const rows = frames.reduce((sum, frame) => sum + frame.rows, 0);
      if (rows > rowsPerSegmentMax) {
        reject(new Error(`${rows} rows in one append: a segment numbers at most ${rowsPerSegmentMax}`));
        return;
      }
      if (queue === appends && totalBytes + waitingBytes + bytes > bytesMax) {
        refusedBytes = bytes;
        reject(unavailable('The write-ahead log is full; try again later.'));
        return;
      }
      if (queue === appends) refusedBytes = 0;
      waitingBytes += bytes;
      queue.push({ frames, bytes, rows, resolve, reject });
      wake();
    });
  }

  /**
   * Numbers rise from the highest one on disk, so a segment stays until a newer one is there: else its number, or one
   * that was said to be settled, could come again after a restart with the clock set back.
   */
  async function outlive(segment: SealedSegment): Promise<void> {
    if (segment.number >= newest) await enqueue(seals, []);
  }

  function forget(segment: SealedSegment): void {
    sealed = sealed.filter((other) => other.number !== segment.number);
    totalBytes -= segment.bytes;
  }

  if (open === undefined) probe();
  return {
    append: (frames) =>
      closed ? Promise.reject(unavailable('The server is shutting down.')) : enqueue(appends, frames),
    async seal() {
      await enqueue(seals, []);
    },
    sealed: () => sealed,
    waitingMs(without) {
      // They stand in the order in which they came.
      const oldest = sealed.find(({ number }) => without?.has(number) !== true) ?? open;
      return oldest === undefined || oldest.rows === 0 ? 0 : performance.now() - oldest.sinceMs;
    },
    onChange(next) {
      listener = next;
    },
    async read(segment) {
      const file = await files.read(segmentName(segment.number));
      return decodeSegment(file.subarray(0, segment.bytes), segment.number);
    },
    async release(segment) {
      await outlive(segment);
      await files.remove(segmentName(segment.number));
      // Gone for this process, whatever the sync says: a removal that a crash undoes is sent again, with doubt.
      forget(segment);
      await files.syncDirectory();
    },
    async setAside(segment, why) {
      await outlive(segment);
      const name = segmentName(segment.number);
      await files.rename(name, name.replace(/wal$/, why));
      forget(segment);
      await files.syncDirectory();
    },
    async lowestUnsettled() {
      if (isStale()) await enqueue(seals, []);
      const waiting = sealed.reduce(
        (lowest, { number }) => Math.min(lowest, number),
        Number.MAX_SAFE_INTEGER,
      );
      // Never a number that is not on disk yet: after a restart with the clock set back, lower ones would come.
      const next = coming?.number === newest ? newest : newest + 1;
      return Math.min(waiting, open?.number ?? next);
    },
    isStored: (segment) =>
      sealed.every(({ number }) => number > segment) &&
      (open === undefined || open.rows === 0 || open.number > segment),
    lastRecovered: recovered.highest,
    bytes: () => totalBytes,
    failure: () => (totalBytes + waitingBytes + refusedBytes > bytesMax ? 'full' : failure),
    async close() {
      closed = true;
      clearTimeout(probing);
      while (isBusy()) await Promise.allSettled([working, coming?.segment]);
      await open?.file.close();
      open = undefined;
      // Empty: the next process removes it.
      const unused = await coming?.segment.catch(() => undefined);
      await unused?.file.close();
      coming = undefined;
    },
  };
}

/** Reads what is left of earlier runs: cuts torn tails, reports damage, and lists the segments that hold rows. */
async function recover(
  files: LogFiles,
  log: Logger,
): Promise<{ segments: SealedSegment[]; empty: string[]; highest: number }> {
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
