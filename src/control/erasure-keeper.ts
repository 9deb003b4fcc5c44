import type { Clock } from '../base/clock.ts';
import type { Storage } from '../storage/storage.ts';
import { changeCodes, changeOfErasure, changeOfUser, sourceEventOfChange } from './change-events.ts';
import { carryOutErasure, listErasures, type StoredErasure } from './erasure.ts';
import { type KeeperOptions, KeeperTurns } from './keeper.ts';
import { eraseUser } from './users.ts';

/**
 * Carries out erasures that a command has begun. No event changes before the one that says so is in the tree: else nobody
 * could tell what was erased from what was altered.
 */
export class ErasureKeeper {
  readonly #options: KeeperOptions;
  readonly #turns: KeeperTurns;
  /** Erasures that wait for the end of a hold, and of which that was told. */
  readonly #told = new Set<string>();

  constructor(options: KeeperOptions) {
    this.#options = options;
    const failed = 'an erasure could not be carried out yet';
    this.#turns = new KeeperTurns(options, 'erasure', (signal) => this.turn(signal), failed);
  }

  stop(): Promise<void> {
    return this.#turns.stop();
  }

  /** Rejects with EngineError; whatever is left then is for the next turn. */
  async turn(signal?: AbortSignal): Promise<void> {
    if ((await this.#begun()).length === 0) return;
    await this.#turns.alone(async () => {
      // Another process may have been at it until now.
      for (const erasure of await this.#begun()) await this.#carryOut(erasure, signal);
    });
  }

  async #begun(): Promise<StoredErasure[]> {
    const erasures = await listErasures(this.#options.storage);
    return erasures.filter(({ finishedMicros }) => finishedMicros === undefined).toReversed();
  }

  async #carryOut(erasure: StoredErasure, signal: AbortSignal | undefined): Promise<void> {
    const { storage, clock, log, record, settledBefore } = this.#options;
    const { id, organizationId: organization, events } = erasure;
    await eraseAccount(storage, erasure, record, clock);
    const recorded = await recordedAt(storage, erasure);
    if (recorded === undefined) {
      const change = changeOfErasure(erasure);
      await record(organization, sourceEventOfChange(change, erasure.operator, clock()));
      return;
    }
    if (recorded >= (await settledBefore())) return;
    const done = await carryOutErasure(storage, erasure, clock(), signal);
    if (done !== 'held') log.info({ organization, erasure: id, events }, 'a person is erased from events');
    else if (!this.#told.has(id)) {
      this.#told.add(id);
      log.warn({ organization, erasure: id }, 'an erasure waits for the end of the legal hold');
    }
  }
}

/** The account of the person, where the command was killed before it came to that. */
async function eraseAccount(
  storage: Storage,
  { account, pseudonym, operator, organizationId }: StoredErasure,
  record: KeeperOptions['record'],
  clock: Clock,
): Promise<void> {
  const erased = await eraseUser(storage, account, pseudonym);
  if (erased === undefined) return;
  const change = changeOfUser(erased, 'userDisabled');
  await record(organizationId, sourceEventOfChange(change, operator, clock()));
}

/** The place of the event that says so; undefined where a crash came before it. */
async function recordedAt(
  storage: Storage,
  { id, organizationId }: StoredErasure,
): Promise<bigint | undefined> {
  const [row] = await storage.rows<{ n: string; first: string }>(
    `SELECT count() AS n, min(seq) AS first FROM events WHERE org = {org:UUID} AND activity_id = {code:Int64}
       AND JSONExtractString(source, 'message', 'extra', 'erasure', 'id') = {id:String}`,
    { org: organizationId, code: changeCodes.personErased, id },
  );
  return row === undefined || row.n === '0' ? undefined : BigInt(row.first);
}
