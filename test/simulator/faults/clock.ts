import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../limits.ts';
import { anyWriter, postEvents, send } from '../operations/post.ts';
import { keepFor } from '../operations/retention.ts';
import { patiently } from '../waiting.ts';
import type { Operation, World } from '../world.ts';

/** Wrong wall clocks. They remove and forget nothing, and the feed does not depend on them. */

const hourMs = 3_600_000;
const jumps = [60 * 24, 30, 2, -3].map((hours) => hours * hourMs);

async function restartAt(world: World, clockAheadMs: number): Promise<void> {
  await world.service.stop();
  await world.service.start({ ...world.service.settings, clockAheadMs });
}

export const clocks: readonly Operation[] = [
  {
    name: 'set the clock right while it runs',
    weight: 2,
    kind: 'actor',
    run: async (world) => {
      const { clockAheadMs } = world.service.settings;
      if (clockAheadMs === 0) return undefined;
      await world.service.setClockRight();
      return `it was ${clockAheadMs / hourMs} hours ahead`;
    },
  },
  {
    name: 'start with a wrong clock',
    weight: 0.7,
    kind: 'alone',
    run: async (world, draw) => {
      const isWrong = world.service.settings.clockAheadMs !== 0;
      const clockAheadMs = isWrong ? 0 : draw.pick(jumps);
      await restartAt(world, clockAheadMs);
      return `the clock is ${clockAheadMs / hourMs} hours ahead`;
    },
  },
  {
    name: 'a clock that was far ahead for a while',
    weight: 0.7,
    kind: 'alone',
    run: async (world, draw) => {
      if (world.service.settings.clockAheadMs !== 0) return undefined;
      const organization = anyWriter(world, draw);
      if (organization === undefined) return undefined;
      // Retentions that only the wrong clock ends.
      if (organization.days === undefined && !organization.held) {
        await keepFor(world, organization, 300);
        if (organization.isPolicyUnknown) return undefined;
      }
      await postEvents(world, organization, draw, { kinds: ['plain'], count: draw.int(1, 20), ages: [250] });
      const { batch } = await postEvents(world, organization, draw, {
        kinds: ['plain'],
        count: draw.int(1, 20),
        ages: [50],
        isKeyed: true,
      });
      await restartAt(world, jumps[0] ?? 0);
      await sleep(patiently(limits.graceMs) / 2);
      await send(world, organization, batch);
      await restartAt(world, 0);
      await send(world, organization, batch);
      return `${organization.slug}: request ${batch.number} before, during and after a clock that was 60 days ahead`;
    },
  },
];
