import type { DamageRegister } from '../base/observability/damage.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { counter } from '../base/observability/metrics.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import type { ControlCopy } from './control-copy.ts';
import { type Mended, mendControlData, type MendedTable } from './control-mend.ts';
import type { Storage } from './storage.ts';

/** Time between comparisons of the copy of the control data with the tables. */
const controlCompareMs = 3_600_000;
/** Time between them while something cannot be put back. */
const controlRetryMs = 10_000;
const controlTurnMs = 1_000;
/** Time between looks whether the file of the copy is still there. */
const controlCopyLookMs = 60_000;

export interface ControlWatchOptions {
  readonly storage: Storage;
  readonly copy: ControlCopy;
  readonly damage: DamageRegister;
  readonly log: Logger;
  /** Another number whenever the engine has started again: then it may have set parts aside. */
  engineStarts(): number;
}

/** What became of a table, in words. */
export function mendedWords({ putBack, takenOut, unmended }: MendedTable): string {
  if (unmended !== undefined) return unmended;
  const parts =
    takenOut.length === 0 ? '' : `part ${takenOut.join(', ')} could not be read and was taken out; `;
  return `${parts}${putBack} rows were missing or older than in their copy and are put back`;
}

/** Tells of what was mended, and of what was not. */
export function logMended(log: Logger, { tables, copy }: Mended): void {
  for (const { table, putBack, takenOut, unmended } of tables) {
    const facts = {
      table,
      put_back: putBack,
      parts_taken_out: takenOut,
      ...(unmended && { error: unmended }),
    };
    if (unmended === undefined)
      log.error(facts, 'control data had been lost from a table of the engine; its copy has put it back');
    else log.error(facts, 'control data is damaged and could not be put back; see `auditlog doctor`');
  }
  if (copy !== undefined)
    log.warn({ found: copy }, 'the copy of the control data is made anew from the tables');
}

/**
 * Holds the control tables of the embedded engine against their copy: at the start, after each start of the engine, when a
 * read has found a damaged part, and every hour. What was mended is told until an hour has passed, what was not until it is.
 */
export class ControlWatch {
  readonly #options: ControlWatchOptions;
  readonly #putBack = counter(
    'auditlog_control_rows_put_back_total',
    'Rows of control data that a table of the engine had lost, and that its copy has put back.',
    ['table'],
  );
  #turning: Repeated | undefined;
  /** By `performance.now()`. */
  #nextCompareMs = 0;
  #nextLookMs = 0;
  #seenStarts = -1;
  #seenUnreadable = '';
  #seenCopy = '';
  readonly #toldUntilMs = new Map<string, number>();

  constructor(options: ControlWatchOptions) {
    this.#options = options;
  }

  /** Compares and mends for the first time, then begins. Rejects where a table cannot be read and cannot be mended. */
  async start(): Promise<void> {
    const { log } = this.#options;
    const { tables } = await this.#compare();
    const lost = tables.find(({ unmended }) => unmended !== undefined);
    if (lost !== undefined)
      throw new Error(
        `the control data is damaged: ${lost.table} ${lost.unmended}. Restore a backup, or take out what cannot be read with "auditlog doctor --repair"`,
      );
    this.#turning = new Repeated(
      controlTurnMs,
      () => this.#turn(),
      (error) => log.warn(errorFacts(error), 'control data could not be compared with its copy yet'),
    );
  }

  async stop(): Promise<void> {
    await this.#turning?.stop();
  }

  async #turn(): Promise<void> {
    const now = performance.now();
    const isHarmed =
      this.#options.engineStarts() !== this.#seenStarts || this.#unreadable() !== this.#seenUnreadable;
    if (isHarmed || now >= this.#nextCompareMs) await this.#compare();
    else if (now >= this.#nextLookMs) await this.#lookAtCopy();
  }

  async #compare(): Promise<Mended> {
    const { storage, copy } = this.#options;
    const starts = this.#options.engineStarts();
    const unreadable = this.#unreadable();
    this.#nextCompareMs = performance.now() + controlRetryMs;
    const mended = await mendControlData({ storage, copy });
    this.#seenStarts = starts;
    this.#seenUnreadable = unreadable;
    this.#tell(mended);
    if (mended.tables.every(({ unmended }) => unmended === undefined))
      this.#nextCompareMs = performance.now() + controlCompareMs;
    return mended;
  }

  /** What was to be gone for good does not stay in the copy, nor what says nothing any more. */
  async #lookAtCopy(): Promise<void> {
    const { copy } = this.#options;
    this.#nextLookMs = performance.now() + controlCopyLookMs;
    const state = await copy.state();
    if (state === this.#seenCopy) return;
    // Looked at again, as it is not made anew while something of it is being removed.
    if ((await copy.content()).isDue) await this.#compare();
    else this.#seenCopy = state;
  }

  /** Damaged parts of tables without partitions, as those of control data are. */
  #unreadable(): string {
    const known = this.#options.damage.list();
    return known
      .flatMap(({ kind, id }) => (kind === 'unreadable' && id.startsWith('all_') ? [id] : []))
      .join();
  }

  #tell(mended: Mended): void {
    const { damage, log } = this.#options;
    logMended(log, mended);
    const now = performance.now();
    for (const table of mended.tables) {
      this.#putBack.inc({ table: table.table }, table.putBack);
      damage.clear('control_data', table.table);
      damage.report({ kind: 'control_data', id: table.table, detail: mendedWords(table) });
      this.#toldUntilMs.set(table.table, now + controlCompareMs);
      for (const part of table.takenOut) damage.clear('unreadable', part);
    }
    for (const [table, untilMs] of this.#toldUntilMs) {
      if (now < untilMs || mended.tables.some((one) => one.table === table)) continue;
      damage.clear('control_data', table);
      this.#toldUntilMs.delete(table);
    }
  }
}
