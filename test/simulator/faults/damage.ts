import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { linesOf } from '../checks/log.ts';
import { hold } from '../finding.ts';
import { operationByName } from '../operations/by-name.ts';
import type { Operation, World } from '../world.ts';
import { call } from '../../support/http.ts';

/** Control data that is harmed, while nothing runs: the service says what happened, and lets nobody in whom it may be about. */

/** A change right before, so that the newest part of the journal may be the one that ends something. */
const changes = ['revoke a key', 'disable a user', 'place a hold', 'make a key'] as const;

/**
 * A part that is nowhere else. While what it was merged or changed from is on the disk, the engine makes it again of that,
 * and nothing is lost.
 */
function isLast(): string {
  const ofTable = "database = 'audit' AND table = 'journal'";
  return `${ofTable} AND active AND rows > 0 AND name NOT IN (
    SELECT part.name FROM system.parts AS part JOIN system.parts AS old USING (database, table, partition_id)
    WHERE ${ofTable} AND part.active AND NOT old.active
      AND old.min_block_number >= part.min_block_number AND old.max_block_number <= part.max_block_number)`;
}

async function newestPart(world: World): Promise<string | undefined> {
  const found = await world.service.ask(
    `SELECT path FROM system.parts WHERE ${isLast()} ORDER BY modification_time DESC, max_block_number DESC`,
  );
  return found.split('\n')[0] || undefined;
}

/** The operator has a copy of what is lost, and puts it back. */
const controlData: Operation = {
  name: 'harm control data while stopped',
  weight: 0.8,
  kind: 'alone',
  run: async (world, draw) => {
    await operationByName(draw.pick(changes)).run(world, draw);
    const newest = await newestPart(world);
    if (newest === undefined) return undefined;
    if (draw.chance(0.5)) await world.service.kill();
    else await world.service.stop();
    // Merged with others meanwhile, where it is gone.
    const copy = join(world.directory, 'part-of-the-journal');
    const isThere = existsSync(newest);
    if (isThere) renameSync(newest, copy);
    if (isThere) world.damaged('control_data', linesOf.controlData);
    await world.service.start();
    if (!isThere) return undefined;
    await world.service.tells('control_data', 'the newest part of the journal was removed');
    await refusesEverybody(world);
    await world.service.stop();
    renameSync(copy, newest);
    await world.service.start();
    return 'the newest part of the journal: removed, and put back';
  },
};

async function refusesEverybody(world: World): Promise<void> {
  const { url } = await world.service.up();
  for (const { slug, keys } of world.model.here)
    for (const { text } of keys) {
      const { status } = await call(`${url}/api/v1/audit?limit=1`, { headers: { 'x-api-key': text } });
      const words = `a key of ${slug} is answered ${status} while the newest changes are missing`;
      hold([401, 403, 503].includes(status), 'what was ended stays ended', () => words);
    }
}

export const damages: readonly Operation[] = [controlData];
