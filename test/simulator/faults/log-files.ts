import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { linesOf } from '../checks/log.ts';
import { anyWriter, postEvents } from '../operations/post.ts';
import { untilAllSeen } from '../quiet.ts';
import type { Operation, World } from '../world.ts';

/**
 * Removes the newest files of the write-ahead log: events only in them may be lost, and the service must report
 * that.
 */

function removeNewest(dataDir: string, count: number): string[] {
  const folder = join(dataDir, 'wal');
  const newest = readdirSync(folder)
    .toSorted()
    .slice(-count)
    .map((name) => join(folder, name));
  for (const file of newest) rmSync(file, { recursive: true });
  return newest;
}

/** Marks all events that no follower has got as doubtful. */
function doubt(world: World): number {
  let events = 0;
  for (const organization of world.model.here) {
    const first = world.followers.get(organization.slug)?.[0];
    organization.own.doubt(first?.own ?? []);
    const given = new Set(first?.seen);
    for (const batch of organization.batches) {
      if (batch.state !== 'stored' || batch.events.every(({ id }) => given.has(id))) continue;
      batch.doubt();
      batch.isWhole = false;
      // Its answer may be forgotten, too.
      batch.isRemembered = false;
      events += batch.events.length;
    }
  }
  return events;
}

export const logFiles: readonly Operation[] = [
  {
    name: 'remove the newest files of the log while stopped',
    weight: 0.5,
    kind: 'alone',
    run: async (world, draw) => {
      await world.calm();
      const organization = anyWriter(world, draw);
      if (organization === undefined) return undefined;
      // Small requests right before, which only the log has.
      for (let n = draw.int(1, 5); n > 0; n--)
        await postEvents(world, organization, draw, { kinds: ['plain'], count: draw.int(1, 20), ages: [50] });
      await world.service.kill();
      const removed = removeNewest(world.service.dataDir, draw.int(1, 3));
      const doubted = doubt(world);
      world.damaged('log_segment', linesOf.logSegments);
      await world.service.start();
      await untilAllSeen(world, draw);
      const lost = world.model.here.flatMap(({ batches, order }) => {
        const given = new Set(order);
        return batches
          .filter(({ isWhole }) => !isWhole)
          .flatMap(({ events }) => events.filter(({ id }) => !given.has(id)));
      });
      if (lost.length > 0)
        await world.service.reports(
          'log_segment',
          `${lost.length} acknowledged events are gone with ${removed.length} files of the log`,
        );
      return `${removed.length} newest files of the log removed: ${lost.length} events of ${doubted} are lost`;
    },
  },
];
