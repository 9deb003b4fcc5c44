import { linesOf } from '../checks/log.ts';
import type { Operation } from '../world.ts';

/** Processes that die or are stopped, beside whatever is under way. */

export const processCounts = [1, 2, 3];

export const kills: readonly Operation[] = [
  {
    name: 'kill the service',
    weight: 3,
    kind: 'fault',
    run: async (world, draw) => {
      await world.service.kill();
      await world.commandsEnd();
      const processes = draw.chance(0.5) ? draw.pick(processCounts) : world.service.settings.processes;
      await world.service.start({ ...world.service.settings, processes });
      return `the service killed, and started with PROCESSES=${processes}`;
    },
  },
  {
    name: 'kill the engine',
    weight: 3,
    kind: 'fault',
    run: async (world) => {
      if (!(await world.service.killPart('engine', 0))) return undefined;
      world.demand(...linesOf.engineKilled);
      return 'the engine killed';
    },
  },
  {
    name: 'kill a front end',
    weight: 2,
    kind: 'fault',
    run: async (world, draw) => {
      const { processes } = world.service.settings;
      if (processes === 1) return undefined;
      const which = draw.int(0, processes - 1);
      if (!(await world.service.killPart('front end', which))) return undefined;
      world.demand(...linesOf.frontEndKilled);
      world.expect(...linesOf.frontEndWithoutEngine);
      return `front end ${which + 1} killed`;
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
  {
    name: 'start with another number of processes',
    weight: 2,
    kind: 'alone',
    run: async (world, draw) => {
      const processes = draw.pick(
        processCounts.filter((count) => count !== world.service.settings.processes),
      );
      await world.service.stop();
      await world.service.start({ ...world.service.settings, processes });
      return `PROCESSES=${processes}`;
    },
  },
];
