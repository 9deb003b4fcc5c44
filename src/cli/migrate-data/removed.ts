import { setTimeout as sleep } from 'node:timers/promises';
import { listDeletions, removeRowsOf } from '../../control/deletion.ts';
import { limits as storageLimits } from '../../storage/limits.ts';
import { allTimeMicros, EventRemoval, type RemovalBounds } from '../../storage/removal.ts';
import { limits } from '../limits.ts';
import type { Sides } from './comparison.ts';

/**
 * What retention, or a deletion, has removed from the source after it was copied: it is removed at the target, too. Only
 * what a plan of the source names and the source has none of any more; whatever else the target has too much is told.
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
    while ((await this.#here.underWay()) > 0) {
      if (performance.now() > deadline)
        throw new Error(
          'the engine of the source is still removing what is over: try again when it has ended',
        );
      await sleep(limits.moveRemovalPollMs);
    }
  }

  /** Events of one organization. */
  async follow(organization: string): Promise<void> {
    const followed: RemovalBounds[] = [];
    for (const bounds of await this.#boundsOf(organization)) {
      const { beforeMicros, below } = bounds;
      const isCovered = followed.some((one) => beforeMicros <= one.beforeMicros && below <= one.below);
      if (isCovered || (await this.#here.left(bounds)) > 0) continue;
      await this.#there.repeat(bounds);
      followed.push(bounds);
    }
  }

  /** All but the events of organizations that were deleted, of which `follow` takes care. */
  async followDeletions(): Promise<void> {
    for (const { id } of await listDeletions(this.#sides.source)) {
      await removeRowsOf(this.#sides.target, id);
    }
  }

  /** What plans name, that which reaches farthest first; of an organization that was deleted, everything. */
  async #boundsOf(organization: string): Promise<RemovalBounds[]> {
    const { source } = this.#sides;
    const rows = await source.rows<{ before: string; below: string }>(
      `SELECT DISTINCT toString(before) AS before, toString(below) AS below FROM removals FINAL
       WHERE org = {org:UUID}`,
      { org: organization },
    );
    const bounds = rows.map(({ before, below }) => ({
      organization,
      beforeMicros: Number(before),
      below: BigInt(below),
    }));
    if ((await listDeletions(source)).some(({ id }) => id === organization))
      bounds.push({ organization, beforeMicros: allTimeMicros, below: 2n ** 64n - 1n });
    return bounds.toSorted((a, b) => b.beforeMicros - a.beforeMicros || (a.below < b.below ? 1 : -1));
  }
}
