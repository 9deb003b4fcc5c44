import { setTimeout as sleep } from 'node:timers/promises';
import { printed } from '../../support/server.ts';
import { hold } from '../finding.ts';
import type { Draw } from '../draw.ts';
import type { ModelOrganization } from '../model.ts';
import type { World } from '../world.ts';
import { resolveChanges } from './changes.ts';
import { finishErasures } from './erase.ts';
import { keepFor } from './retention.ts';

/** What came of changes that a kill cut short: each was made, or was not, and stays so. */

async function listed(world: World, args: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  return printed(await world.command([...args, '--json'])) as Record<string, unknown>[];
}

async function resolveOrganization(world: World, organization: ModelOrganization): Promise<void> {
  if (organization.keys.some(({ state }) => state === 'unsure')) {
    const keys = await listed(world, ['key', 'list', '--org', organization.slug]);
    for (const key of organization.keys.filter(({ state }) => state === 'unsure'))
      key.state = keys.find(({ id }) => id === key.id)?.['revoked_at'] === null ? 'good' : 'revoked';
  }
  if (organization.users.some(({ state }) => state === 'unsure')) {
    const users = await listed(world, ['user', 'list', '--org', organization.slug]);
    for (const user of organization.users.filter(({ state }) => state === 'unsure'))
      user.state =
        users.find(({ email }) => email === user.email)?.['disabled_at'] === null ? 'good' : 'disabled';
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
    organization.retention = String(row['retention']);
    organization.held = row['hold'] !== null;
    organization.receipts = row['receipts'] === 'off' ? 'off' : 'own';
    organization.policyBegins();
    const setting = /^(\d+)d$/.exec(organization.retention)?.[1];
    if (organization.days === (setting === undefined ? undefined : Number(setting))) continue;
    // A setting that nothing has come of: the service may follow it meanwhile, and does so whenever nothing goes by that.
    organization.own.may(`5013 Retention of ${organization.slug} changed`);
    organization.own.may(`5013 Retention of ${organization.slug} changed by itself`);
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

/** Until every change is known everywhere, with what was read ahead for followers. */
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
    await resolveOrganization(world, organization);
    await resolveChanges(world, organization, draw);
    await finishErasures(world, organization);
  }
  await untilKnown(world);
}
