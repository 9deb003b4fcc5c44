import { setTimeout as sleep } from 'node:timers/promises';
import type { DamageRegister } from '../base/observability/damage.ts';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { unlessAborted } from '../base/waiting/within.ts';
import { type Ledger, type MissingRows, readLedger, writeLedger } from './ledger.ts';
import { quarantinedParts, type QuarantinedPart, stillActive } from './parts.ts';
import type { Storage } from './storage.ts';
import { beginLedger, compareWithTable, countStored } from './stored-counts.ts';

export interface PartsWatchOptions {
  readonly storage: Storage;
  /** Holds the ledger; the caller makes sure that no other process uses it. */
  readonly dataDir: string;
  readonly damage: DamageRegister;
  readonly log: Logger;
  /** A time that has passed for certain, Unix microseconds: days before it are forgotten. */
  readonly expiryMicros: () => number;
  /** No event with a lower `seq` can come any more. */
  watermark(): Promise<bigint>;
  /** Another number whenever events have been stored since. */
  stored(): number;
  /** Looks at the files of new parts; see own-engine.ts. */
  checkWritten(): Promise<void>;
  /** Another number whenever the engine has started again: then it may have set parts aside. */
  engineStarts(): number;
}

/** Tells the operator of a part that reads have found damaged, once. */
export function reportUnreadable(damage: DamageRegister, log: Logger, part: string): void {
  const detail = 'a damaged part of a table: reads that need it fail';
  if (!damage.report({ kind: 'unreadable', id: part, detail })) return;
  log.error({ part }, 'a part of a table is damaged, and reads that need it fail; see `auditlog doctor`');
}

/**
 * Keeps the ledger of the embedded engine's table and holds it against the table: at the start, after each start of
 * the engine, and every hour. While something is missing it looks more often, so that what has been mended or recorded
 * is soon not told any more. What it does costs the engine a fiftieth of one core at most.
 */
export class PartsWatch {
  readonly #options: PartsWatchOptions;
  readonly #stopping = new AbortController();
  #ledger: Ledger | undefined;
  #failure: string | undefined;
  #running: Promise<void> = Promise.resolve();
  /** By `performance.now()`. */
  #nextCountMs = 0;
  #nextCompareMs = 0;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #countedStored = -1;
  #comparedStarts = -1;
  #missing: readonly MissingRows[] = [];
  #quarantined: readonly QuarantinedPart[] = [];

  constructor(options: PartsWatchOptions) {
    this.#options = options;
  }

  /** Reads the ledger and begins. Rejects when the file cannot be read. */
  async start(): Promise<void> {
    const { dataDir, log } = this.#options;
    const onDamage = (): void =>
      log.error({}, 'the ledger of stored events is damaged; it begins again with what the table has');
    this.#ledger = await readLedger(dataDir, onDamage);
    this.#running = this.#run();
  }

  /** Ends all questions to the engine, then counts what was stored last, if it answers soon. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    if (this.#options.stored() === this.#countedStored) return;
    await this.#attempt(() => this.#count(AbortSignal.timeout(limits.ledgerStopMsMax)));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#attempt(() => this.#turn());
      await sleep(limits.ledgerTurnMs, undefined, { signal, ref: false }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  }

  /** The engine may be away, and a damaged part may be in the way of counting: later, then, and each reason is told once. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#failure = undefined;
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const facts = errorFacts(error);
      if (facts.error !== this.#failure)
        this.#options.log.warn(facts, 'stored events could not be counted yet');
      this.#failure = facts.error;
    }
  }

  async #turn(): Promise<void> {
    const now = performance.now();
    const starts = this.#options.engineStarts();
    if (starts !== this.#comparedStarts || now >= this.#nextCompareMs) {
      this.#comparedStarts = starts;
      await this.#compare();
    }
    if (this.#options.stored() !== this.#countedStored && now >= this.#nextCountMs)
      await this.#count(this.#stopping.signal);
    const lookPauseMs = this.#options.damage.list().length > 0 ? limits.damageLookMs : limits.partsLookMs;
    if (now >= this.#lookedMs + lookPauseMs) await this.#look();
  }

  /**
   * Takes into the ledger what the watermark has passed since. Events may be stored before it has passed them, as front
   * ends publish theirs each second: then there is something left to count, also if nothing is stored any more.
   */
  async #count(signal: AbortSignal): Promise<void> {
    const { storage, dataDir } = this.#options;
    const stored = this.#options.stored();
    const began = performance.now();
    try {
      const ledger = await this.#begun(signal);
      const { through } = ledger;
      const watermark = await unlessAborted(this.#options.watermark(), signal);
      const to = watermark > through ? watermark - 1n : through;
      const { counts, isAll } = await countStored(storage, through, to, signal);
      ledger.advance(to, counts);
      await writeLedger(dataDir, ledger);
      if (isAll) this.#countedStored = stored;
    } finally {
      this.#nextCountMs = spaced(began, limits.ledgerCountMs);
    }
  }

  async #compare(): Promise<void> {
    const { storage, dataDir, log } = this.#options;
    const began = performance.now();
    let pauseMs: number = limits.ledgerRetryMs;
    try {
      const quarantined = await quarantinedParts(storage, 'events', this.#stopping.signal);
      const ledger = await this.#begun(this.#stopping.signal);
      const { missing, raised } = await compareWithTable(
        storage,
        ledger,
        this.#options.expiryMicros() / 1000,
        this.#stopping.signal,
      );
      if (raised > 0) {
        log.info({ rows: raised }, 'the table has more events than the ledger; they are counted now');
        await writeLedger(dataDir, ledger);
      }
      this.#reportMissing(missing);
      this.#reportQuarantined(quarantined);
      pauseMs = missing.length > 0 ? limits.ledgerRecompareMs : limits.ledgerCompareMs;
    } finally {
      this.#nextCompareMs = spaced(began, pauseMs);
    }
  }

  async #begun(signal: AbortSignal): Promise<Ledger> {
    const { storage, expiryMicros } = this.#options;
    return (this.#ledger ??= await beginLedger(storage, expiryMicros() / 1000, signal));
  }

  /** The quick look between comparisons. */
  async #look(): Promise<void> {
    const { storage } = this.#options;
    this.#lookedMs = performance.now();
    const found = await quarantinedParts(storage, 'events', this.#stopping.signal);
    const isKnown = ({ name }: QuarantinedPart): boolean =>
      this.#quarantined.some((known) => known.name === name);
    if (!found.every(isKnown)) await this.#compare();
    await this.#forgetGone();
    // A merged part that is cut short must be known before what it was made of is removed.
    await unlessAborted(this.#options.checkWritten(), this.#stopping.signal);
  }

  #reportMissing(missing: readonly MissingRows[]): void {
    const { damage, log } = this.#options;
    for (const before of this.#missing) {
      const now = missing.find(({ partition }) => partition === before.partition);
      if (now?.rows === before.rows) continue;
      damage.clear('missing_events', before.partition);
      if (now === undefined)
        log.info({ partition: before.partition }, 'no stored events are missing here any more');
    }
    for (const { partition, rows } of missing) {
      const detail = `${rows} stored events of this partition are not in the table any more`;
      if (!damage.report({ kind: 'missing_events', id: partition, detail })) continue;
      log.error({ partition, rows }, 'stored events are missing from the table; see `auditlog doctor`');
    }
    this.#missing = missing;
  }

  /** Parts that were set aside are a loss where events are missing; else what they were made of is still there. */
  #reportQuarantined(found: readonly QuarantinedPart[]): void {
    const { damage, log } = this.#options;
    const missing = new Set(this.#missing.map(({ partition }) => partition));
    const isLoss = (part: QuarantinedPart): boolean => missing.has(part.partition);
    for (const known of this.#quarantined) damage.clear('engine_part', known.name);
    for (const part of found) {
      const { name, reason } = part;
      const isNew = !this.#quarantined.some((known) => known.name === name);
      if (isLoss(part)) {
        const detail = `set aside by the engine (${reason}), and events of its partition are missing`;
        damage.report({ kind: 'engine_part', id: name, detail });
        if (isNew) log.error({ part: name, reason }, 'the engine has set a part aside; events are missing');
      } else if (isNew) {
        log.info({ part: name, reason }, 'the engine has set a part aside; no counted event is missing');
      }
    }
    this.#quarantined = found;
  }

  /** A damaged part that was taken out, or merged away, is in nobody's way any more. */
  async #forgetGone(): Promise<void> {
    const { storage, damage, log } = this.#options;
    const unreadable = damage.list().flatMap(({ kind, id }) => (kind === 'unreadable' ? [id] : []));
    if (unreadable.length === 0) return;
    const active = await stillActive(storage, unreadable, this.#stopping.signal);
    for (const part of unreadable) {
      if (active.has(part)) continue;
      damage.clear('unreadable', part);
      log.info({ part }, 'a damaged part is not in use any more');
    }
  }
}

/** When to do again what began at a moment and has ended now: after `pauseMs`, and fifty times as long as it took. */
function spaced(beganMs: number, pauseMs: number): number {
  const now = performance.now();
  return now + Math.max(pauseMs, (now - beganMs) * limits.ledgerShareOfTime);
}
