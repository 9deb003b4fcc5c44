import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../base/problem.ts';
import { addressOfPseudonym } from '../../base/pseudonym.ts';
import { listDeletions, removeRowsOf } from '../../control/deletion.ts';
import { listErasures, type StoredErasure } from '../../control/erasure.ts';
import { limits as storageLimits } from '../../storage/limits.ts';
import { allTimeMicros, EventRemoval } from '../../storage/removal.ts';
import { renderPlaceholders } from '../../storage/render-migration.ts';
import type { Storage } from '../../storage/storage.ts';
import { limits } from '../limits.ts';
import type { Sides } from './comparison.ts';

/**
 * What retention, or a deletion, has removed from the source after it was copied: it is removed at the target, too. Only
 * what a plan of the source names and the source has none of any more; whatever else the target has too much is told.
 * Events that a person was erased from after they were copied are removed, too, and copied once more.
 */
export class Removed {
  readonly #sides: Sides;
  readonly #here: EventRemoval;
  readonly #there: EventRemoval;

  constructor(sides: Sides) {
    this.#sides = sides;
    this.#here = new EventRemoval(sides.source);
    this.#there = new EventRemoval(sides.target);
  }

  /** Waits for what the source's engine is still at, after its server was stopped. Rejects where that takes too long. */
  async settle(): Promise<void> {
    const deadline = performance.now() + storageLimits.removalMsMax;
    if ((await listErasures(this.#sides.source)).some(({ finishedMicros }) => finishedMicros === undefined))
      throw new Problem(
        'conflict',
        'a server has not finished an erasure: start it again, and stop it when its log says that the person is erased',
      );
    while ((await this.#here.underWay()) > 0) {
      if (performance.now() > deadline)
        throw new Error(
          'the engine of the source is still removing what has expired: try again when it has ended',
        );
      await sleep(limits.moveRemovalPollMs);
    }
  }

  /** Events of one organization. */
  async follow(organization: string): Promise<void> {
    const isDeleted = (await listDeletions(this.#sides.source)).some(({ id }) => id === organization);
    const whole = { organization, beforeMicros: allTimeMicros, below: 2n ** 64n - 1n };
    for (const bounds of await this.#here.gone(organization, isDeleted ? [whole] : []))
      await this.#there.repeat(bounds);
  }

  /** Events that have not at the target what the source has left of them. */
  async followErasures(): Promise<void> {
    const { source, target } = this.#sides;
    const settings = { mutations_sync: 2 };
    for (const erasure of await listErasures(source)) {
      const { id, organizationId: org } = erasure;
      await this.#forgetAccount(erasure);
      for await (const seqs of seqsOf(source, org, id)) {
        const [here, there] = await Promise.all([hashesOf(source, org, seqs), hashesOf(target, org, seqs)]);
        const other = seqs.filter((seq) => there.has(seq) && there.get(seq) !== here.get(seq));
        if (other.length === 0) continue;
        const table = renderPlaceholders('{{sharded events}} {{on_cluster}}', target);
        await target.command(
          `ALTER TABLE ${table} DELETE WHERE org = {org:UUID} AND seq IN (${other.join(', ')})`,
          { org },
          { settings, timeoutMs: storageLimits.removalMsMax },
        );
      }
    }
  }

  /** What the target has of an account from before it was erased: the source has it no more, and what it has is copied again. */
  async #forgetAccount({ account, pseudonym }: StoredErasure): Promise<void> {
    const { target } = this.#sides;
    const [row] = await target.rows<{ n: string }>(
      `SELECT toString((SELECT count() FROM user_identities WHERE id = {account:UUID})
         + (SELECT count() FROM users WHERE id = {account:UUID} AND email_lower != {email:String})) AS n`,
      { account, email: addressOfPseudonym(pseudonym) },
    );
    if (row?.n === '0') return;
    const settings = { mutations_sync: 2 };
    for (const table of ['user_identities', 'users'])
      await target.command(
        `ALTER TABLE ${table} DELETE WHERE id = {account:UUID}`,
        { account },
        { settings },
      );
  }

  /** All but the events of organizations that were deleted, of which `follow` takes care. */
  async followDeletions(): Promise<void> {
    for (const { id } of await listDeletions(this.#sides.source)) {
      await removeRowsOf(this.#sides.target, id);
    }
  }
}

/** The order numbers of an erasure's events, some thousand at a time: digits, as the engine writes them. */
async function* seqsOf(storage: Storage, org: string, id: string): AsyncGenerator<string[]> {
  for (let after = '0'; ; ) {
    const rows = await storage.rows<{ place: string }>(
      `SELECT toString(seq) AS place FROM erased_events FINAL WHERE org = {org:UUID} AND erasure = {id:UUID}
         AND seq > {after:UInt64} ORDER BY seq LIMIT {limit:UInt32}`,
      { org, id, after, limit: limits.moveErasedAtOnce },
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(({ place }) => place);
    after = last.place;
  }
}

/** Hashes of what is shown and stored of events, by their order numbers. */
async function hashesOf(
  storage: Storage,
  org: string,
  seqs: readonly string[],
): Promise<Map<string, string>> {
  const rows = await storage.rows<{ place: string; mark: string }>(
    `SELECT toString(seq) AS place, toString(cityHash64(source, ocsf, actor_email)) AS mark FROM events
     WHERE org = {org:UUID} AND seq IN (${seqs.join(', ')})`,
    { org },
  );
  return new Map(rows.map(({ place, mark }) => [place, mark]));
}
