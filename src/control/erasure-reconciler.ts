import type { Storage } from '../storage/storage.ts';
import { changeCodes } from './change-events.ts';
import { carryOutErasure, erasuresUnderWay, overtakenEvents, type StoredErasure } from './erasure.ts';
import { type ReconcilerOptions, ReconcilerLoop } from './reconciler.ts';

/**
 * Carries out erasures. No event changes before the erasure's event is in the tree; otherwise erased and altered would look
 * alike.
 */
export class ErasureReconciler {
  readonly #options: ReconcilerOptions;
  readonly #loop: ReconcilerLoop;
  /** Erasures logged as waiting for the end of a hold. */
  readonly #reported = new Set<string>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    const failed = 'An erasure could not be carried out yet';
    this.#loop = new ReconcilerLoop(options, 'erasure', (signal) => this.reconcile(signal), failed);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Rejects with EngineError; the next turn does the rest. */
  async reconcile(signal?: AbortSignal): Promise<void> {
    const { directory } = this.#options;
    if (erasuresUnderWay(directory).length === 0) return;
    await this.#loop.alone(async () => {
      // Another process may have had the lease until now.
      await directory.refresh();
      const begun = erasuresUnderWay(directory);
      for (const organization of new Set(begun.map(({ organizationId }) => organizationId))) {
        const erasures = begun.filter(({ organizationId }) => organizationId === organization);
        await this.#loop.job({ organization }, signal, () => this.#ofOne(erasures, signal));
      }
    });
  }

  /** In the order of their events: each plan builds on the previous ones, and `verify` follows that order. */
  async #ofOne(erasures: readonly StoredErasure[], signal: AbortSignal | undefined): Promise<void> {
    const { storage, watermarks } = this.#options;
    const recorded: { readonly erasure: StoredErasure; readonly seq: bigint }[] = [];
    for (const erasure of erasures) {
      const seq = await recordedAt(storage, erasure);
      if (seq === undefined) break;
      recorded.push({ erasure, seq });
    }
    for (const { erasure, seq } of recorded.toSorted((a, b) => (a.seq < b.seq ? -1 : 1))) {
      if (seq >= (await watermarks())(erasure.organizationId) || !(await this.#carryOut(erasure, signal)))
        return;
    }
  }

  /** False if it waits for the end of a hold. */
  async #carryOut(erasure: StoredErasure, signal: AbortSignal | undefined): Promise<boolean> {
    const { storage, log } = this.#options;
    const { id, organizationId: organization, events } = erasure;
    const done = await carryOutErasure(this.#options, erasure, signal);
    if (done === 'held') {
      if (!this.#reported.has(id))
        log.warn({ organization, erasure: id }, 'An erasure waits for the end of the legal hold');
      this.#reported.add(id);
      return false;
    }
    log.info({ organization, erasure: id, events }, 'A person is erased from events');
    const overtaken = await overtakenEvents(storage, erasure);
    if (overtaken > 0)
      log.warn(
        { organization, erasure: id, overtaken },
        'Events had been changed after an erasure was planned, or its plan was damaged: they are left as they are; run erase again',
      );
    return true;
  }
}

/** Order number of the erasure's event; undefined if a crash prevented it. Rejects with EngineError. */
async function recordedAt(
  storage: Storage,
  { id, organizationId }: StoredErasure,
): Promise<bigint | undefined> {
  const [row] = await storage.rows<{ n: string; first: string }>(
    `SELECT count() AS n, min(seq) AS first FROM events WHERE org = {org:UUID} AND own AND activity_id = {code:Int64}
       AND JSONExtractString(source, 'message', 'extra', 'erasure', 'id') = {id:String}`,
    { org: organizationId, code: changeCodes.personErased, id },
  );
  return row === undefined || row.n === '0' ? undefined : BigInt(row.first);
}
