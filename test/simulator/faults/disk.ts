import { spawnSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { linesOf } from '../checks/log.ts';
import { limits } from '../limits.ts';
import type { Operation, World } from '../world.ts';

/** A disk without room for a while, and a slow one. */

export const fullDisk = 'fill the disk';

/** A disk in memory for a data directory, with a variable size. It needs the right to mount. */
export class SmallDisk {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static mountAt(directory: string): SmallDisk | undefined {
    const disk = new SmallDisk(directory);
    const options = `mode=0700,size=${limits.diskBytes}`;
    const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory]);
    if (status !== 0) return undefined;
    process.once('exit', () => disk.unmount());
    return disk;
  }

  isUnder(directory: string): boolean {
    return directory === this.#directory;
  }

  /** Leaves this much room. */
  leave(bytes: number): void {
    const { bsize, blocks, bfree } = statfsSync(this.#directory);
    this.#resize((blocks - bfree) * bsize + bytes);
  }

  makeRoom(): void {
    this.#resize(limits.diskBytes);
  }

  unmount(): void {
    spawnSync('umount', ['--lazy', this.#directory]);
  }

  /** Its content may grow meanwhile: then the system refuses the size, and the next attempt follows soon. */
  #resize(bytes: number): void {
    spawnSync('mount', ['-o', `remount,size=${bytes}`, this.#directory]);
  }
}

const refillMs = 50;
const enoughForEngine = 384 * 1024 ** 2;

/** Room that engine and service free is taken away again. */
async function keepFull(disk: SmallDisk, roomBytes: number, ms: number): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; await sleep(refillMs))
    disk.leave(roomBytes);
}

async function fill(
  world: World,
  disk: SmallDisk,
  roomBytes: number,
  isKilled: boolean,
  ms: number,
): Promise<void> {
  const filling = keepFull(disk, roomBytes, ms);
  try {
    if (isKilled) {
      await sleep(ms / 2);
      await world.service.kill();
      await world.commandsEnd();
    }
    await filling;
    if (isKilled) await world.service.start();
  } finally {
    await filling;
    disk.makeRoom();
  }
}

export const disks: readonly Operation[] = [
  {
    name: fullDisk,
    weight: 1.5,
    kind: 'fault',
    run: async (world, draw) => {
      const { disk } = world;
      if (disk?.isUnder(world.service.dataDir) !== true) return undefined;
      world.expect(...linesOf.fullDisk);
      // None, or the log's reserve for the engine.
      const roomBytes = draw.pick([0, 64 * 1024 ** 2, enoughForEngine]);
      const [ms, isKilled] = [draw.int(500, limits.fullDiskMsMax), draw.chance(0.3)];
      await fill(world, disk, roomBytes, isKilled, ms);
      return `${roomBytes} bytes of room for ${ms} ms${isKilled ? ', killed and started meanwhile' : ''}`;
    },
  },
  {
    name: 'start on a slow disk',
    weight: 0.7,
    kind: 'alone',
    run: async (world, draw) => {
      const { settings } = world.service;
      const diskSlowMs = settings.diskSlowMs > 0 ? 0 : draw.pick([20, 150, 400]);
      await world.service.stop();
      await world.service.start({ ...settings, diskSlowMs });
      return `each write takes ${diskSlowMs} ms longer`;
    },
  },
];
