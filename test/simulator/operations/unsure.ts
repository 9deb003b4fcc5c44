import { setTimeout as sleep } from 'node:timers/promises';
import { printed } from '../../support/server.ts';
import { hold } from '../finding.ts';
import type { Draw } from '../draw.ts';
import type { ModelOrganization } from '../model.ts';
import type { World } from '../world.ts';
import { resolveChanges } from './changes.ts';
import { finishErasures } from './erase.ts';
import { keepFor } from './retention.ts';

/** Resolves changes interrupted by a kill: each was made or was not, and stays so. */

async function listed(world: World, args: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  return printed(await world.command([...args, '--json'])) as Record<string, unknown>[];
}

/** Ended things have their event, others have none. */
async function resolveEnds<State extends string>(
  world: World,
  { own, slug }: ModelOrganization,
  all: readonly { state: State | 'good' | 'unsure'; endEvent?: string }[],
  what: 'key' | 'user',
  ended: State,
): Promise<void> {
  const unsure = all.filter(({ state }) => state === 'unsure');
  if (unsure.length === 0) return;
  const [name, member] = what === 'key' ? ['id', 'revoked_at'] : ['email', 'disabled_at'];
  const rows = await listed(world, [what, 'list', '--org', slug]);
  for (const one of unsure) {
    const row = rows.find((listedRow) => listedRow[name] === (one as Record<string, unknown>)[name]);
    one.state = row?.[member] === null ? 'good' : ended;
    if (one.state === ended && one.endEvent !== undefined) own.must(one.endEvent);
  }
}

async function resolvePolicies(world: World): Promise<void> {
  const unsure = world.model.here.filter(({ isPolicyUnknown }) => isPolicyUnknown);
  if (unsure.length === 0) return;
  const organizations = await listed(world, ['org', 'list']);
  for (const organization of unsure) {
    const row = organizations.find(({ slug }) => slug === organization.slug);
    hold(row !== undefined, 'organizations stay', () => `${organization.slug} is not listed`);
    const days = row['kept_days'];
    organization.noteExpired();
    organization.days = typeof days === 'number' ? days : undefined;
    const [retention, held] = [String(row['retention']), row['hold'] !== null];
    const { own, slug } = organization;
    if (retention !== organization.retention) own.must(`5011 Organization ${slug} changed`);
    if (held !== organization.held)
      own.must(`${held ? '5014' : '5015'} Legal hold on ${slug} ${held ? 'placed' : 'released'}`);
    Object.assign(organization, { retention, held });
    organization.policyBegins();
    const setting = /^(\d+)d$/.exec(organization.retention)?.[1];
    if (organization.days === (setting === undefined ? undefined : Number(setting))) continue;
    // A setting without effect yet: the service follows it as soon as that removes nothing.
    own.may(`5013 Retention of ${slug} changed`);
    own.may(`5013 Retention of ${slug} changed by itself`);
    await keepFor(world, organization, organization.days);
  }
}

async function resolveDeletions(world: World): Promise<void> {
  const unsure = world.model.organizations.filter(({ state }) => state === 'deleting');
  if (unsure.length === 0) return;
  const organizations = await listed(world, ['org', 'list']);
  for (const organization of unsure)
    organization.state = organizations.some(({ slug }) => slug === organization.slug) ? 'here' : 'deleted';
}

/** Resolves when all servers and followers know every change. */
async function untilKnown(world: World): Promise<void> {
  const moments = [
    ...world.model.organizations.map(({ policyKnownAtMs }) => policyKnownAtMs),
    ...world.erased.map(({ fromMs }) => fromMs),
  ];
  await sleep(Math.max(0, ...moments.map((moment) => moment - Date.now())));
}

export async function resolveUnsure(world: World, draw: Draw): Promise<void> {
  await resolveDeletions(world);
  await resolvePolicies(world);
  for (const organization of world.model.here) {
    await resolveEnds(world, organization, organization.keys, 'key', 'revoked');
    await resolveEnds(world, organization, organization.users, 'user', 'disabled');
    await resolveChanges(world, organization, draw);
    await finishErasures(world, organization);
  }
  await untilKnown(world);
}
