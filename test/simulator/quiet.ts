import { Draw } from './draw.ts';
import { Follower } from './checks/follow.ts';
import { checkAccess } from './checks/access.ts';
import { checkBounds } from './checks/bounds.ts';
import { checkErasedFiles } from './checks/erased-files.ts';
import { checkEvidence, keepEvidence } from './checks/evidence.ts';
import { checkLog } from './checks/log.ts';
import {
  atRest,
  checkArray,
  checkCsv,
  checkDeepPage,
  checkLines,
  checkPages,
  checkSources,
  checkOcsf110,
} from './checks/ways-out.ts';
import { hold } from './finding.ts';
import type { ModelOrganization } from './model.ts';
import { postEvents } from './operations/post.ts';
import { resolveUnsure } from './operations/unsure.ts';
import { limits } from './limits.ts';
import { patiently, until } from './waiting.ts';
import type { World } from './world.ts';

/** The follower that defines the order. */
export function firstFollower(world: World, organization: ModelOrganization): Follower {
  const known = world.followers.get(organization.slug)?.[0];
  if (known !== undefined) return known;
  const made = [new Follower(organization, 10_000), new Follower(organization, 97)];
  world.followers.set(organization.slug, made);
  return made[0] as Follower;
}

/**
 * Posts an event behind nearly all others: events that another process took a moment ago may have higher numbers,
 * and so may all that it took while a segment of this one waits.
 */
async function postLast(world: World, organization: ModelOrganization, draw: Draw): Promise<string> {
  return until(
    'a service without a fault takes events',
    () => organization.slug,
    async () => {
      const { batch } = await postEvents(world, organization, draw, {
        kinds: ['plain'],
        count: 1,
        ages: [50],
      });
      return batch.state === 'stored' ? batch.events[0]?.id : undefined;
    },
  );
}

/** The first acknowledged event that the follower has not got. Expired and removed events do not count. */
function missing(organization: ModelOrganization, first: Follower): string | undefined {
  if (organization.policyUnsure) return undefined;
  for (const { state, isWhole, events, number } of organization.batches) {
    const isHidden = events.some(
      ({ id }) => organization.everExpired.has(id) || organization.removed.has(id),
    );
    if (state !== 'stored' || !isWhole || isHidden) continue;
    const lost = events.filter(({ id }) => !first.has(id));
    if (lost.length > 0)
      return `request ${number} of ${organization.slug}: ${lost.length} of ${events.length} are not in the feed, ${lost[0]?.id} the first`;
  }
  return undefined;
}

/** Follows the feed until all acknowledged events have come, and unanswered ones have had time to come. */
async function followAll(world: World, organization: ModelOrganization, draw: Draw): Promise<Follower> {
  const first = firstFollower(world, organization);
  await first.sees(world, await postLast(world, organization, draw));
  const endMs = performance.now() + patiently(limits.unansweredMs);
  await until(
    'what was acknowledged is there',
    () => missing(organization, first) ?? '',
    async () => {
      while (await first.poll(world));
      const mayCome =
        organization.batches.some(({ state }) => state === 'maybe') && performance.now() < endMs;
      return mayCome || missing(organization, first) !== undefined ? undefined : true;
    },
  );
  settle(organization, first);
  return first;
}

/** Resolves unanswered requests: all of their events exist, or none. */
function settle(organization: ModelOrganization, first: Follower): void {
  for (const batch of organization.batches) {
    const there = batch.events.filter(({ id }) => first.has(id)).length;
    if (batch.state !== 'stored') {
      hold(
        there === 0 || !batch.isWhole || batch.events.every((one) => first.has(one.id) || one.damaged),
        'a request is stored whole or not at all',
        () => `request ${batch.number} of ${organization.slug}: ${there} of ${batch.events.length} events`,
      );
      batch.end(there > 0 ? 'stored' : 'absent');
      if (there > 0) for (const { id } of batch.events) if (!first.has(id)) organization.removed.add(id);
    }
  }
  organization.order.splice(0, organization.order.length, ...first.seen);
}

/** Each successful act has one event of the service, and there are no others. */
async function checkOwn(world: World, { slug, id, own }: ModelOrganization, first: Follower): Promise<void> {
  await until(
    'what the service does is recorded',
    () => `${slug}: nothing of ${own.missing(first.own).join('; ')}`,
    async () => {
      while (await first.poll(world));
      return own.missing(first.own).length === 0 || undefined;
    },
  );
  const unexplained = own.unexplained(first.own);
  hold(
    unexplained.length === 0,
    'nothing is recorded that nobody did',
    () => `${slug}: ${unexplained.join('; ')}`,
  );
  const wrong = await world.service.ask(
    `SELECT count() FROM events WHERE org = '${id}' AND own = (position(source, 'sim=') > 0)`,
  );
  hold(Number(wrong) === 0, 'the mark of the service is on its own events', () => `${slug}: ${wrong} others`);
}

async function checkFeeds(world: World, organization: ModelOrganization, draw: Draw): Promise<void> {
  const first = await followAll(world, organization, draw);
  await checkOwn(world, organization, first);
  // An early follower has more of the expired events than a late one.
  const mayDiffer = organization.everExpired.size + organization.removed.size > 0;
  for (const other of world.followers.get(organization.slug)?.slice(1) ?? []) {
    const differs = (): number => first.seen.findIndex((id, place) => id !== other.seen[place]);
    await until(
      'all followers see one order',
      () =>
        `${organization.slug}: ${other.seen[differs()]} instead of ${first.seen[differs()]}, of ${first.seen.length} the place ${differs()}; nothing of ${organization.own.missing(other.own).join('; ')}`,
      async () => {
        while (await other.poll(world));
        const isSame = other.seen.length === first.seen.length && differs() === -1;
        const hasOwn = organization.own.missing(other.own).length === 0;
        return (isSame && hasOwn) || (mayDiffer && other.has(first.seen.at(-1) ?? '')) || undefined;
      },
    );
  }
}

/** Resolves when each feed has been read up to an event behind all others. */
export async function untilAllSeen(world: World, draw: Draw): Promise<void> {
  for (const organization of world.model.here) await followAll(world, organization, draw);
}

/** At rest: every check for every organization; files, handles and memory of the service. */
export async function quietPoint(world: World, seed: number): Promise<string> {
  const draw = new Draw(seed);
  await world.commandsEnd();
  await world.calm();
  await resolveUnsure(world, draw);
  for (const organization of world.model.organizations) {
    if (organization.state === 'here') {
      await checkFeeds(world, organization, draw);
      const rest = atRest(world, organization);
      await checkLines(world, rest);
      await checkPages(world, rest, draw);
      await checkDeepPage(world, rest, draw);
      await checkSources(world, rest, draw);
      await draw.pick([checkArray, checkCsv, checkOcsf110])(world, rest);
    }
    await checkAccess(world, organization, draw);
  }
  for (const organization of world.model.here) {
    await checkEvidence(world, organization, draw);
    if (organization.tampered === undefined) await keepEvidence(world, organization, draw);
  }
  const damage = await world.service.damage();
  hold(
    damage.every(({ kind }) => world.isDamaged(kind)),
    'nothing is damaged without a fault',
    () => JSON.stringify(damage),
  );
  checkLog(world);
  await checkErasedFiles(world);
  return checkBounds(world);
}
