import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { keysOf } from '../checks/evidence.ts';
import { until } from '../waiting.ts';
import type { Operation } from '../world.ts';

/** A new key signs; evidence that auditors kept before stays valid. */
export const evidenceKeys: readonly Operation[] = [
  {
    name: 'rotate the evidence key',
    weight: 0.7,
    kind: 'alone',
    run: async (world, draw) => {
      const organization = draw.pickAny(world.model.here.filter(({ reader }) => reader !== undefined));
      if (organization === undefined) return undefined;
      const known = (await keysOf(world, organization))?.keys.length ?? 0;
      if (draw.chance(0.5)) await world.service.kill();
      else await world.service.stop();
      const file = join(world.service.dataDir, 'evidence-key');
      renameSync(file, `${file}.previous`);
      await world.service.start();
      await until(
        'a new key is published',
        () => `beside ${known} others`,
        async () => ((await keysOf(world, organization))?.keys.length ?? 0) > known || undefined,
      );
      return `a new key of evidence after ${known}`;
    },
  },
];
