import type { Storage } from '../storage/storage.ts';
import { changeCodes } from './change-events.ts';
import { carryOutErasure, erasuresUnderWay, overtakenEvents, type StoredErasure } from './erasure.ts';
import { type ReconcilerOptions, ReconcilerLoop } from './reconciler.ts';

/**
 * Carries out erasures that a command has begun. No event changes before the one that says so is in the tree: else nobody
 * could tell what was erased from what was altered.
 */
export class ErasureReconciler {
  readonly #options: ReconcilerOptions;
  readonly #loop: ReconcilerLoop;
  /** Erasures that wait for the end of a hold, and of which that was told. */
  readonly #reported = new Set<string>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    const failed = 'an erasure could not be carried out yet';
    this.#loop = new ReconcilerLoop(options, 'erasure', (signal) => this.reconcile(signal), failed);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Rejects with EngineError; whatever is left then is for the next turn. */
  async reconcile(signal?: AbortSignal): Promise<void> {
    const { directory } = this.#options;
    if (erasuresUnderWay(directory).length === 0) return;
    await this.#loop.alone(async () => {
      // Another process may have been at it until now.
      await directory.refresh();
      const begun = erasuresUnderWay(directory);
      for (const organization of new Set(begun.map(({ organizationId }) => organizationId))) {
        const erasures = begun.filter(({ organizationId }) => organizationId === organization);
        await this.#loop.job({ organization }, signal, () => this.#ofOne(erasures, signal));
      }
    });
  }

  /**
   * The erasures of an organization, in the order of their events: each is planned on what those before it leave, and
   * whoever verifies follows an event through them in that order.
   */
  async #ofOne(erasures: readonly StoredErasure[], signal: AbortSignal | undefined): Promise<void> {
    const { storage, watermarks } = this.#options;
    const recorded: { readonly erasure: StoredErasure; readonly seq: bigint }[] = [];
    for (const erasure of erasures) {
      const seq = await recordedAt(storage, erasure);
      // The events of those behind it come after its own.
      if (seq === undefined) break;
      recorded.push({ erasure, seq });
    }
    for (const { erasure, seq } of recorded.toSorted((a, b) => (a.seq < b.seq ? -1 : 1))) {
      if (seq >= (await watermarks())(erasure.organizationId) || !(await this.#carryOut(erasure, signal)))
        return;
    }
  }

  /** False where it waits for the end of a hold. */
  async #carryOut(erasure: StoredErasure, signal: AbortSignal | undefined): Promise<boolean> {
    const { storage, log } = this.#options;
    const { id, organizationId: organization, events } = erasure;
    const done = await carryOutErasure(this.#options, erasure, signal);
    if (done === 'held') {
      if (!this.#reported.has(id))
        log.warn({ organization, erasure: id }, 'an erasure waits for the end of the legal hold');
      this.#reported.add(id);
      return false;
    }
    log.info({ organization, erasure: id, events }, 'a person is erased from events');
    const overtaken = await overtakenEvents(storage, erasure);
    if (overtaken > 0)
      log.warn(
        { organization, erasure: id, overtaken },
        'events had been changed after an erasure was planned, or its plan was damaged: they are left as they are; run erase again',
      );
    return true;
  }
}

/** The place of the event that says so; undefined where a crash came before it. Rejects with EngineError. */
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
