import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { readIfThere, replaceFile } from '../files/durable-file.ts';
import { limits } from '../limits.ts';
import { errorFacts, type Logger } from '../observability/log.ts';
import { gauge } from '../observability/metrics.ts';
import { Repeated } from '../waiting/repeated.ts';
import { isDiskFull } from '../errors/system-error.ts';

interface Mark {
  /** Unix milliseconds that have passed for certain. */
  readonly provenMs: number;
  /** By so much the clock may still be ahead. */
  readonly aheadMsMax: number;
  /** The mark of the last confirmation that has been taken. */
  readonly accepted: string;
}

interface Acceptance {
  readonly id: string;
  readonly atMs: number;
}

const markPath = (dataDir: string): string => join(dataDir, 'clock.json');
const acceptedPath = (dataDir: string): string => join(dataDir, 'clock-accepted.json');
const sumOf = (value: object): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

async function write(path: string, value: object): Promise<void> {
  await replaceFile(path, `${JSON.stringify({ value, sum: sumOf(value) })}\n`, `${path}.${randomUUID()}`);
}

/** Undefined where there is none, and where it is damaged. */
async function read<T extends object>(path: string): Promise<T | undefined> {
  const text = await readIfThere(path);
  try {
    const { value, sum } = JSON.parse(text ?? '{}') as { value?: T; sum?: string };
    return value !== undefined && sum === sumOf(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Says that the clock of this machine is right now: an operator has looked (`doctor --accept-clock`). */
export async function acceptClock(dataDir: string, atMs: number): Promise<void> {
  await write(acceptedPath(dataDir), { id: randomUUID(), atMs } satisfies Acceptance);
}

/** Notes for the next start that no later moment than this is known to have passed. */
export async function markClock(dataDir: string, provenMs: number): Promise<void> {
  await write(markPath(dataDir), {
    provenMs,
    aheadMsMax: limits.clockStepMsMax,
    accepted: '',
  } satisfies Mark);
}

/** How far the time is known to have come (Unix milliseconds); undefined where nobody has noted it. */
export async function markedClock(dataDir: string): Promise<number | undefined> {
  const mark = await read<Mark>(markPath(dataDir));
  const acceptance = await read<Acceptance>(acceptedPath(dataDir));
  return acceptance !== undefined && acceptance.id !== mark?.accepted ? acceptance.atMs : mark?.provenMs;
}

export interface ClockTrustOptions {
  readonly dataDir: string;
  readonly log: Logger;
  /** Unix milliseconds of the newest that is stored, where there is no mark; undefined: nothing is. */
  newestStored(): Promise<number | undefined>;
  /** The wall clock, and one that only passes. */
  readonly nowMs?: () => number;
  readonly passedMs?: () => number;
}

/**
 * May the clock be trusted now? Whatever cannot be undone asks this class for the time and not the clock: what has expired is
 * removed, and what was answered is forgotten, only when that much time has passed for certain.
 *
 *     proven    a moment that has come: noted in DATA_DIR (clock.json), or of the newest that is stored
 *        + the time that passes here, by a clock that nobody sets
 *        or the wall clock, where that is at most `aheadMsMax` of it ahead
 *
 * What is taken from the clock is taken off `aheadMsMax`, and time that passes here is put on it, up to a day. So however
 * many small steps a clock makes, within runs or between them, they prove no more than a day and the time that has passed
 * beside them. Where the mark is lost the newest that is stored is by the same clock: then it begins with nothing.
 *
 * So a clock that jumps further changes nothing, and one that is set back neither; the proven time goes on from where it
 * was. A service that was stopped for weeks cannot tell its rest from a jump: it goes on like that, and says so once there
 * is something that it would remove by the clock. Then an operator looks at the clock and confirms it, or sets it right.
 */
export class ClockTrust {
  readonly #options: ClockTrustOptions;
  readonly #nowMs: () => number;
  readonly #passedMs: () => number;
  #provenMs: number | undefined;
  #provenAtMs: number;
  #aheadMsMax: number = limits.clockStepMsMax;
  #accepted = '';
  /** The clock was seen to jump while this process ran. */
  #hasJumped = false;
  /** At the last look. How far the clock is ahead at the first is the rest before the start, and no jump. */
  #aheadAtLookMs = Number.POSITIVE_INFINITY;
  #holdsBack = false;
  #isTold = false;
  #notedMs = Number.NEGATIVE_INFINITY;
  #looking: Repeated | undefined;

  private constructor(options: ClockTrustOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#passedMs = options.passedMs ?? (() => performance.now());
    this.#provenAtMs = this.#passedMs();
  }

  /** Rejects when the files of the data directory cannot be read. */
  static async open(options: ClockTrustOptions): Promise<ClockTrust> {
    const trust = new ClockTrust(options);
    const mark = await read<Mark>(markPath(options.dataDir));
    trust.#accepted = mark?.accepted ?? '';
    trust.#provenMs = mark?.provenMs ?? (await options.newestStored());
    if (trust.#provenMs !== undefined) trust.#aheadMsMax = mark?.aheadMsMax ?? 0;
    await trust.look();
    trust.#looking = new Repeated(
      limits.clockLookMs,
      () => trust.look(),
      (error) => options.log.warn(errorFacts(error), 'how far the time has come could not be noted yet'),
    );
    const help =
      'How far the clock is ahead of the time that has passed for certain, where that holds something back.';
    gauge('auditlog_clock_ahead_seconds', help, [], (metric) =>
      metric.set(trust.doubt() === undefined ? 0 : Math.round(trust.aheadMs() / 1000)),
    );
    return trust;
  }

  async stop(): Promise<void> {
    await this.#looking?.stop();
    await this.#note();
  }

  /** Unix milliseconds that have passed for certain; never goes back. */
  provenMs(): number {
    const passed = this.#passedMs();
    const wall = this.#nowMs();
    const certain = this.#certainMs(passed, wall);
    const stepMs = wall - certain;
    this.#aheadMsMax = this.#stepMsMax(passed);
    const isTaken = stepMs > 0 && stepMs <= this.#aheadMsMax;
    if (isTaken) this.#aheadMsMax -= stepMs;
    this.#provenMs = isTaken ? wall : certain;
    this.#provenAtMs = passed;
    return this.#provenMs;
  }

  /** The time by which something may be removed for good, Unix microseconds: what has passed for certain, and by the clock. */
  readonly expiryMicros = (): number => Math.min(this.provenMs(), this.#nowMs()) * 1000;

  /** The latest time that it may be, Unix microseconds: by which it is asked what something would remove. */
  readonly latestMicros = (): number => Math.max(this.provenMs(), this.#nowMs()) * 1000;

  /** How far the clock is ahead of the proven time, where that is more than it may be; else 0. */
  aheadMs(): number {
    return Math.max(0, this.#nowMs() - this.provenMs());
  }

  /** Whoever removes says whether there is anything that goes by the clock and not by the proven time. */
  holdBack(isAny: boolean): void {
    this.#holdsBack = isAny;
    this.#tell();
  }

  /** What an operator has to know; undefined while the clock is trusted, or nothing depends on it. */
  doubt(): string | undefined {
    const aheadMs = this.aheadMs();
    if (aheadMs === 0 || !(this.#hasJumped || this.#holdsBack)) return undefined;
    const days = (aheadMs / 86_400_000).toFixed(1);
    return `the clock is ${days} days ahead of the time that has passed for certain: nothing is removed or forgotten by it before "auditlog doctor --accept-clock"`;
  }

  /** Takes a confirmation, notes how far the time has come, and sees whether the clock has jumped. */
  async look(): Promise<void> {
    const acceptance = await read<Acceptance>(acceptedPath(this.#options.dataDir));
    if (acceptance !== undefined && acceptance.id !== this.#accepted) await this.#accept(acceptance);
    const nowMs = this.#nowMs();
    const stepMs = nowMs - this.#certainMs(this.#passedMs(), nowMs);
    const stepMsMax = this.#stepMsMax(this.#passedMs());
    this.#hasJumped = stepMs > stepMsMax && (this.#hasJumped || stepMs - this.#aheadAtLookMs > stepMsMax);
    this.#aheadAtLookMs = this.aheadMs();
    if (this.#aheadAtLookMs === 0) this.#holdsBack = false;
    this.#tell();
    if (this.#passedMs() - this.#notedMs >= limits.clockNoteMs) await this.#note();
  }

  #certainMs(passedMs: number, wallMs: number): number {
    return this.#provenMs === undefined ? wallMs : this.#provenMs + (passedMs - this.#provenAtMs);
  }

  /** By how much the clock may be ahead now. */
  #stepMsMax(passedMs: number): number {
    return Math.min(limits.clockStepMsMax, this.#aheadMsMax + (passedMs - this.#provenAtMs));
  }

  async #accept({ id, atMs }: Acceptance): Promise<void> {
    this.#accepted = id;
    this.#provenMs = atMs;
    this.#provenAtMs = this.#passedMs();
    this.#aheadMsMax = limits.clockStepMsMax;
    this.#hasJumped = false;
    this.#holdsBack = false;
    this.#options.log.warn({ at: new Date(atMs).toISOString() }, 'an operator has confirmed the clock');
    await this.#note();
  }

  async #note(): Promise<void> {
    this.#notedMs = this.#passedMs();
    const provenMs = Math.floor(this.provenMs());
    const mark: Mark = { provenMs, aheadMsMax: Math.floor(this.#aheadMsMax), accepted: this.#accepted };
    await write(markPath(this.#options.dataDir), mark).catch((error: unknown) => {
      // What is stored can still be read; the mark stays behind, which holds back and loses nothing.
      if (!isDiskFull(error)) throw error;
    });
  }

  #tell(): void {
    const doubt = this.doubt();
    if (doubt !== undefined && !this.#isTold) this.#options.log.error({}, doubt);
    if (doubt === undefined && this.#isTold) this.#options.log.info({}, 'the clock is trusted again');
    this.#isTold = doubt !== undefined;
  }
}
