import { firstSeqOf, segmentAtTime } from '../../base/sequence.ts';
import type { Storage } from '../../storage/storage.ts';
import { limits } from '../limits.ts';
import { createProgress, type Progress, type ProgressIo } from '../progress.ts';
import { Comparison, type Difference, type Month, scopeOf, type Sides, type Stretch } from './comparison.ts';
import { Copy } from './copy.ts';
import { patientStorage } from './patience.ts';
import type { MoveRecord, MoveRecords } from './record.ts';
import { Removed } from './removed.ts';
import { reading } from './slices.ts';
import { eventsTable, otherTables } from './tables.ts';

interface MoveOptions extends Sides {
  readonly records: MoveRecords;
  readonly record: MoveRecord;
  readonly io: ProgressIo;
}

/** Above every place in the order of ingest. */
export const endOfOrder = 2n ** 64n - 1n;

/**
 * Moves the data of one engine to another. What has been done is seen from both engines: months of recording, and
 * organizations in them, that do not have the same events are copied, slice by slice. So a run that was cut short at any
 * point is taken up by the next, and nothing can be there twice.
 */
export class DataMove {
  readonly #sides: Sides;
  readonly #records: MoveRecords;
  readonly #io: ProgressIo;
  readonly #comparison: Comparison;
  readonly #copy: Copy;
  readonly #removed: Removed;
  #record: MoveRecord;
  #progress: Progress | undefined;
  #total = 0;
  #copied = 0;

  constructor({ source, target, records, record, io }: MoveOptions) {
    this.#sides = { source: patientStorage(source), target: patientStorage(target) };
    this.#records = records;
    this.#record = record;
    this.#io = io;
    this.#comparison = new Comparison(this.#sides);
    this.#removed = new Removed(this.#sides);
    const queryId = `${target.database}-migrate-data-${record.id}`;
    this.#copy = new Copy(this.#sides, queryId);
  }

  /** Events that this process has copied. */
  get copied(): number {
    return this.#copied;
  }

  get record(): MoveRecord {
    return this.#record;
  }

  /** Whether a run has come to the end of its first round. */
  get isBegun(): boolean {
    return this.#record.through > 0n;
  }

  /** Takes the target for this move, and ends what an earlier run has left behind; to be called before copying. */
  async start(): Promise<void> {
    await this.#write(this.#record);
    await this.#copy.endEarlier();
  }

  /**
   * Copies beside a server that goes on, in rounds: each takes what has come since the one before, and has less to do,
   * until what is left is little or becomes no less. Resolves with how many events are left.
   */
  async copyRounds(): Promise<number> {
    let left = Number.POSITIVE_INFINITY;
    for (let round = 0; round < limits.moveRoundsMax; round += 1) {
      const before = await this.#watermark();
      // What both had before this run is compared once, and again by the last run.
      await this.#copyEvents(before, round > 0);
      await this.#copyOthers();
      const since = await this.#countFrom(before);
      const isStuck = since > left / 2;
      left = since;
      if (left <= limits.moveLeftEventsMax || isStuck) break;
    }
    return left;
  }

  /** Copies all that is left of a source in which nobody writes any more. */
  async copyRest(): Promise<void> {
    await this.#removed.settle();
    await this.#removed.followErasures();
    await this.#copyEvents(endOfOrder);
    await this.#copyOthers();
  }

  /**
   * What is not the same on both sides: every column of all events below a place, and with `others` all other tables. A
   * day that ends meanwhile, with which rows may go, is compared again.
   */
  async differences(before: bigint, others: boolean): Promise<Difference[]> {
    for (;;) {
      const day = await this.#comparison.day();
      const found = await this.#differencesOn(day, before, others);
      if ((await this.#comparison.day()) === day) return found;
    }
  }

  async #differencesOn(day: string, before: bigint, others: boolean): Promise<Difference[]> {
    const found: Difference[] = [];
    const months = await this.#comparison.months({ from: 0n, before }, day);
    const total = months.reduce((sum, { here }) => sum + here, 0);
    const progress = createProgress(this.#io, { items: 'events compared', total });
    let done = 0;
    for (const month of months) {
      found.push(...(await this.#comparison.organizations(month, day, 'content')));
      done += month.here;
      progress.at(done, done);
    }
    progress.end();
    if (others) for (const table of otherTables) found.push(...(await this.#comparison.table(table, day)));
    return found;
  }

  async finish(through: bigint): Promise<void> {
    await this.#write({ ...this.#record, state: 'finished', through });
  }

  async #write(record: MoveRecord): Promise<void> {
    await this.#records.write(record);
    this.#record = record;
  }

  /** First what both should have already, then what has come since: an event that came late is found by the former. */
  async #copyEvents(before: bigint, onlyNew = false): Promise<void> {
    const through = this.#record.through < before ? this.#record.through : before;
    const old: Stretch = { from: 0n, before: through };
    const stretches: Stretch[] = [...(onlyNew ? [] : [old]), { from: through, before }];
    const day = await this.#comparison.day();
    const months: Month[] = [];
    for (const stretch of stretches) months.push(...(await this.#comparison.months(stretch, day)));
    this.#total += months.reduce((sum, { here, there }) => sum + Math.max(0, here - there), 0);
    this.#progress = createProgress(this.#io, {
      items: 'events',
      total: this.#total,
      doneBefore: this.#copied,
    });
    for (const month of months) await this.#copyMonth(month, day);
    this.#progress.end();
    this.#progress = undefined;
    if (before < endOfOrder && before > this.#record.through)
      await this.#write({ ...this.#record, through: before });
  }

  async #copyMonth(month: Month, day: string): Promise<void> {
    const isFresh = month.there === 0;
    if (!isFresh) {
      const found = await this.#comparison.organizations(month, day, 'place');
      if (found.length === 0) return;
      for (const { organization = '' } of found) await this.#removed.follow(organization);
    }
    if (month.here === 0) return;
    await this.#copy.rows(eventsTable, scopeOf(eventsTable, day, month), isFresh, (rows) => {
      this.#copied += rows;
      this.#progress?.at(this.#copied, this.#copied);
    });
  }

  async #copyOthers(): Promise<void> {
    await this.#removed.followDeletions();
    const day = await this.#comparison.day();
    for (const table of otherTables)
      if ((await this.#comparison.table(table, day)).length > 0)
        await this.#copy.rows(table, scopeOf(table, day), false);
  }

  /** A place below which hardly an event can come any more; the last run looks for those that did. */
  async #watermark(): Promise<bigint> {
    const [row] = await this.#sides.source.rows<{ now: string }>(
      'SELECT toString(toUnixTimestamp64Milli(now64(3))) AS now',
      {},
      reading,
    );
    return firstSeqOf(segmentAtTime(Number(row?.now ?? 0) - limits.moveSettleMs));
  }

  async #countFrom(from: bigint): Promise<number> {
    return countFrom(this.#sides.source, from);
  }
}

async function countFrom(storage: Storage, from: bigint): Promise<number> {
  const [row] = await storage.rows<{ rows: string }>(
    'SELECT toString(count()) AS rows FROM events WHERE seq >= {from:UInt64}',
    { from },
    reading,
  );
  return Number(row?.rows ?? 0);
}
