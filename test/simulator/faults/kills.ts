import { linesOf } from '../checks/log.ts';
import type { Operation } from '../world.ts';

/** Processes that are killed or stopped during operations. */

export const kills: readonly Operation[] = [
  {
    name: 'kill the service',
    weight: 3,
    kind: 'fault',
    run: async (world) => {
      await world.service.kill();
      await world.commandsEnd();
      await world.service.start();
      return 'the service killed, and started';
    },
  },
  {
    name: 'kill the engine',
    weight: 3,
    kind: 'fault',
    run: async (world) => {
      if (!(await world.service.killEngine())) return undefined;
      world.demand(...linesOf.engineKilled);
      return 'the engine killed';
    },
  },
  {
    name: 'stop the engine for a while',
    weight: 2,
    kind: 'fault',
    run: async (world, draw) => {
      const ms = draw.pick([1_000, 3_000, 12_000, 40_000]);
      return (await world.service.pauseEngine(ms)) ? `the engine stood still for ${ms} ms` : undefined;
    },
  },
  {
    name: 'stop the service',
    weight: 2,
    kind: 'fault',
    run: async (world) => {
      await world.service.stop();
      await world.commandsEnd();
      await world.service.start();
      return 'the service stopped, and started';
    },
  },
];
