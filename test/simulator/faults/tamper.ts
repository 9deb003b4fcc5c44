import { linesOf } from '../checks/log.ts';
import { hold } from '../finding.ts';
import { operationByName } from '../operations/by-name.ts';
import type { ModelOrganization } from '../model.ts';
import type { Draw } from '../draw.ts';
import type { Operation, World } from '../world.ts';

/**
 * Somebody changes stored events behind the service: `verify` must detect it, and no other organization may
 * suffer.
 */

/** At most one organization, so that there are others. */
function victim(world: World, draw: Draw): ModelOrganization | undefined {
  if (world.model.here.some(({ tampered }) => tampered !== undefined)) return undefined;
  const hasEvents = world.model.here.filter(({ order, held }) => order.length > 0 && !held);
  return world.model.here.length > 1 ? draw.pickAny(hasEvents) : undefined;
}

/** The current tiles of level 0, each as text. */
async function currentTiles(world: World, where: string): Promise<string[]> {
  const found = await world.service.ask(
    `SELECT tile, width, hex(content) FROM evidence_tiles FINAL WHERE ${where} AND level = 0`,
  );
  return found.split('\n').filter((line) => line !== '');
}

export const tamperings: readonly Operation[] = [
  {
    name: 'harm the tree of an organization',
    weight: 0.6,
    kind: 'alone',
    run: async (world, draw) => {
      const organization = victim(world, draw);
      if (organization === undefined) return undefined;
      const where = `org = '${organization.id}'`;
      const tiles = Number(await world.service.ask(`SELECT count() FROM evidence_tiles WHERE ${where}`));
      if (tiles === 0) return undefined;
      await world.service.ask(
        `ALTER TABLE evidence_tiles UPDATE content = reverse(content) WHERE ${where} AND level = 0`,
      );
      organization.tampered = 'tiles were turned round';
      world.damaged('evidence', linesOf.evidence);
      const harmed = new Set(await currentTiles(world, where));
      await world.service.stop();
      await world.service.start();
      // A growing tree has replaced its only tile.
      const isHealed = (await currentTiles(world, where)).every((tile) => !harmed.has(tile));
      if (isHealed) organization.tampered = undefined;
      // Others are served as before: erasures of their persons wait only for their own trees.
      const others = await operationByName('erase a person').run(world, draw);
      return `${organization.slug}: ${tiles} tiles turned round; ${others ?? 'nobody was erased'}`;
    },
  },
  {
    name: 'remove a row past the service',
    weight: 0.6,
    kind: 'alone',
    run: async (world, draw) => {
      const organization = victim(world, draw);
      if (organization === undefined) return undefined;
      const candidates = organization.order.filter((id) => !organization.everExpired.has(id));
      const id = draw.pickAny(candidates);
      if (id === undefined) return undefined;
      const where = `org = '${organization.id}' AND position(ocsf, 'sim=${id}=') > 0`;
      hold(
        Number(await world.service.ask(`SELECT count() FROM events WHERE ${where}`)) === 1,
        'each event is stored once',
        () => id,
      );
      await world.service.ask(`ALTER TABLE events DELETE WHERE ${where}`);
      organization.tampered = `the row of ${id} was removed`;
      organization.removed.add(id);
      world.damaged('missing_events', linesOf.events);
      return `${organization.slug}: the row of ${id} removed`;
    },
  },
];
