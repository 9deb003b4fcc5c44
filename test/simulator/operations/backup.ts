import { join } from 'node:path';
import { printed, runCliHere } from '../../support/server.ts';
import { Follower } from '../checks/follow.ts';
import { brief, hold } from '../finding.ts';
import { limits } from '../limits.ts';
import { ending } from '../waiting.ts';
import type { Operation, World } from '../world.ts';
import { postEvents } from './post.ts';

/** Backups during other operations, and restores to another directory. */

const placeOf = (world: World): string => join(world.directory, 'backups');

/** An erasure that begins meanwhile ends it, as docs/back-up.md says: then repeat it. */
function backUp(world: World): Promise<unknown> {
  const args = ['backup', '--to', placeOf(world), '--with-secrets', '--full-speed', '--json'];
  return world.alone('backup', async () => {
    for (;;) {
      const { disturbances } = world;
      const answer = await world.command(args);
      if (answer.code === 0) return printed(answer);
      if (world.mayFail(disturbances)) return undefined;
      hold(
        answer.stderr.includes('the erasure of a person was begun meanwhile'),
        'a command without a fault succeeds',
        () => `backup: ${answer.code} ${brief(answer.stderr)}`,
      );
    }
  });
}

const backup: Operation = {
  name: 'back up',
  weight: 1,
  kind: 'actor',
  run: async (world) => ((await backUp(world)) === undefined ? 'a backup was cut short' : 'backed up'),
};

let directories = 0;

const restore: Operation = {
  name: 'restore elsewhere and go on there',
  weight: 0.7,
  kind: 'alone',
  run: async (world, draw) => {
    await world.calm();
    const stored = new Set(
      world.model.here.flatMap(({ batches }) => batches.filter(({ state }) => state === 'stored')),
    );
    if ((await backUp(world)) === undefined) return undefined;
    // The restore loses events after the backup.
    const lost = new Set<string>();
    for (const organization of world.model.here) {
      if (organization.goodKeys.length === 0) continue;
      const wanted = { kinds: ['plain'], count: draw.int(1, 10), ages: [50] } as const;
      const { batch } = await postEvents(world, organization, draw, wanted);
      for (const { id } of batch.events) lost.add(id);
    }
    const kept = world.model.here.flatMap(({ slug }) => {
      const follower = draw.pickAny(world.followers.get(slug)?.slice(1) ?? []);
      return follower === undefined ? [] : [follower];
    });
    for (const follower of kept)
      for (let pages = draw.int(0, 20); pages > 0; pages--) await follower.poll(world);
    if (draw.chance(0.5)) await world.service.kill();
    else await world.service.stop();
    const dataDir = join(world.directory, `restored-${++directories}`);
    const answer = await ending(
      'a restore',
      limits.operationMsMax,
      runCliHere(['restore', '--from', placeOf(world), '--json'], { dataDir }),
    );
    hold(answer.code === 0, 'a backup can be restored', () => brief(answer.stderr));
    const { notes } = printed(answer) as { notes: readonly string[] };
    world.service.continueIn(dataDir);
    for (const organization of world.model.here) {
      for (const batch of organization.batches) {
        if (!stored.has(batch)) batch.doubt();
      }
      organization.order.splice(0);
      organization.own.must('2113 Restored');
    }
    world.followers.clear();
    for (const follower of kept) {
      follower.forget(lost);
      const { organization } = follower;
      world.followers.set(organization.slug, [new Follower(organization, 10_000), follower]);
    }
    await world.service.start();
    return `restored elsewhere${notes.length > 0 ? `: ${notes.join('; ')}` : ''}`;
  },
};

export const backups: readonly Operation[] = [backup, restore];
