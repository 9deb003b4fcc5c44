import { setTimeout as sleep } from 'node:timers/promises';
import { login, sessionOf } from '../../e2e/session-support.ts';
import type { Key } from '../../support/server.ts';
import type { Draw } from '../draw.ts';
import { brief, hold } from '../finding.ts';
import { limits } from '../limits.ts';
import { ModelOrganization, type ModelUser } from '../model.ts';
import { until } from '../waiting.ts';
import type { Operation, World } from '../world.ts';

/** Organizations, users and keys: made, changed, ended. */

const organizationsMax = 4;
const personsOfOrganization = 6;
const password = 'a long enough password';

export async function makeOrganization(world: World): Promise<ModelOrganization | undefined> {
  const slug = world.model.nextSlug();
  const row = (await world.done(['org', 'create', slug, '--name', `The ${slug}`])) as
    | { id: string }
    | undefined;
  if (row === undefined) return undefined;
  const organization = new ModelOrganization(slug, row.id);
  for (let n = 0; n < personsOfOrganization; n++)
    organization.persons.push({ email: `person-${n}@${slug}.example`, state: 'here', pending: 0 });
  await makeKey(world, organization, 'read,write');
  await makeUser(world, organization);
  if (organization.keys.length > 0) world.model.organizations.push(organization);
  return organization;
}

async function makeKey(world: World, organization: ModelOrganization, scopes: string): Promise<boolean> {
  const key = (await world.done(['key', 'create', '--org', organization.slug, '--scopes', scopes])) as
    | Key
    | undefined;
  if (key === undefined) return false;
  await world.knowKey(organization, key, scopes);
  return true;
}

async function makeUser(world: World, organization: ModelOrganization): Promise<ModelUser | undefined> {
  const email = `auditor-${organization.users.length}@${organization.slug}.example`;
  const args = ['user', 'create', '--org', organization.slug, '--email', email, '--name', 'Somebody'];
  const row = await world.done([...args, '--role', 'auditor', '--password-stdin'], `${password}\n`);
  if (row === undefined) return undefined;
  const user: ModelUser = { email, password, cookie: '', state: 'good' };
  const answer = await until(
    'a new user signs in',
    () => email,
    async () => {
      const server = await world.service.up();
      const answered = await login(server, { email, password, organization: organization.slug }).catch(
        () => undefined,
      );
      return answered?.status === 200 ? { server, answered } : undefined;
    },
  );
  user.cookie = sessionOf(answer.server, answer.answered).cookie;
  organization.users.push(user);
  return user;
}

const anyOrganization = (world: World, draw: Draw) => draw.pickAny(world.model.here);

/** Work on an organization's keys and users, one after the other. */
function changing(
  name: string,
  weight: number,
  change: (world: World, organization: ModelOrganization, draw: Draw) => Promise<string | undefined>,
): Operation {
  return {
    name,
    weight,
    kind: 'actor',
    run: async (world, draw) => {
      const organization = anyOrganization(world, draw);
      if (organization === undefined) return undefined;
      return world.alone(`${organization.slug} control`, () => change(world, organization, draw));
    },
  };
}

async function revokeKey(
  world: World,
  organization: ModelOrganization,
  draw: Draw,
): Promise<string | undefined> {
  const [, ...others] = organization.goodKeys;
  const key = draw.pickAny(others);
  if (key === undefined) return undefined;
  key.state = 'unsure';
  const row = await world.done(['key', 'revoke', key.id]);
  if (row === undefined) return `${organization.slug}: revoke ${key.id}: nobody knows`;
  await sleep(limits.graceMs / 3);
  key.state = 'revoked';
  return `${organization.slug}: key ${key.id} revoked`;
}

async function rotateKey(
  world: World,
  organization: ModelOrganization,
  draw: Draw,
): Promise<string | undefined> {
  const [, ...others] = organization.goodKeys;
  const key = draw.pickAny(others);
  if (key === undefined) return undefined;
  key.state = 'unsure';
  const row = (await world.done(['key', 'rotate', key.id, '--grace', '0'])) as Key | undefined;
  // Nobody was told the new secret where the command was cut short: then the key is as good as revoked.
  if (row === undefined) {
    organization.keys.splice(organization.keys.indexOf(key), 1);
    return `${organization.slug}: rotate ${key.id}: nobody knows`;
  }
  await sleep(limits.graceMs / 3);
  key.ended.push(key.text);
  key.text = row.key;
  key.state = 'good';
  return `${organization.slug}: key ${key.id} rotated`;
}

async function disableUser(
  world: World,
  organization: ModelOrganization,
  draw: Draw,
): Promise<string | undefined> {
  const [, ...others] = organization.users.filter(({ state }) => state === 'good');
  const user = draw.pickAny(others);
  if (user === undefined) return undefined;
  user.state = 'unsure';
  const row = await world.done(['user', 'disable', user.email, '--org', organization.slug]);
  if (row === undefined) return `${organization.slug}: disable ${user.email}: nobody knows`;
  await sleep(limits.graceMs / 3);
  user.state = 'disabled';
  return `${organization.slug}: ${user.email} disabled`;
}

async function deleteOrganization(world: World, draw: Draw): Promise<string | undefined> {
  const candidates = world.model.here.slice(2).filter(({ tampered }) => tampered === undefined);
  const organization = draw.pickAny(candidates);
  if (organization === undefined) return undefined;
  const { slug } = organization;
  return world.alone(`${slug} policy`, async () => {
    const { held } = organization;
    if (held) {
      const refused = await world.command(['org', 'delete', slug, '--confirm', '0']);
      hold(refused.code !== 0, 'a hold is kept', () => `${slug} was deleted: ${brief(refused.stdout)}`);
      return `${slug}: deletion refused, as it is held`;
    }
    organization.state = 'deleting';
    // Events that were under way make it another number.
    for (let tries = 0; tries < 20; tries++) {
      const preview = (await world.done(['org', 'delete', slug, '--dry-run'])) as
        | { events: number }
        | undefined;
      if (preview === undefined) return `${slug}: deletion: nobody knows`;
      const answer = await world.command([
        'org',
        'delete',
        slug,
        '--confirm',
        String(preview.events),
        '--json',
      ]);
      if (answer.code === 0) {
        await sleep(limits.graceMs);
        organization.state = 'deleted';
        return `${slug}: deleted`;
      }
      if (world.isDisturbed) return `${slug}: deletion: nobody knows`;
      await sleep(500);
    }
    hold(false, 'a command without a fault succeeds', () => `${slug} cannot be deleted`);
    return undefined;
  });
}

export const controls: readonly Operation[] = [
  {
    name: 'make an organization',
    weight: 1,
    kind: 'actor',
    run: async (world) => {
      if (world.model.here.length >= organizationsMax) return undefined;
      return `${(await makeOrganization(world))?.slug ?? 'nobody knows'} made`;
    },
  },
  { name: 'delete an organization', weight: 0.6, kind: 'actor', run: deleteOrganization },
  changing('make a key', 1.5, async (world, organization, draw) =>
    (await makeKey(world, organization, draw.pick(['read', 'read,write', 'read,write'])))
      ? `${organization.slug}: a key made`
      : undefined,
  ),
  changing('revoke a key', 1.5, revokeKey),
  changing('rotate a key', 1, rotateKey),
  changing(
    'make a user',
    0.5,
    async (world, organization) =>
      `${organization.slug}: ${(await makeUser(world, organization))?.email} made`,
  ),
  changing('disable a user', 1, disableUser),
];
