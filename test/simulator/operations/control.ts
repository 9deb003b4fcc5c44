import { setTimeout as sleep } from 'node:timers/promises';
import { login, sessionOf } from '../../e2e/session-support.ts';
import type { Key } from '../../support/server.ts';
import type { Draw } from '../draw.ts';
import { brief, hold } from '../finding.ts';
import { limits } from '../limits.ts';
import { ModelOrganization, type ModelUser } from '../model.ts';
import type { OwnEvents } from '../own-events.ts';
import { patiently, until } from '../waiting.ts';
import type { Operation, World } from '../world.ts';
import { confirmed } from './confirmed.ts';

/** Makes, changes and ends organizations, users and keys. */

const organizationsMax = 4;
const personsOfOrganization = 6;
const password = 'a long enough password';

export async function makeOrganization(world: World): Promise<ModelOrganization | undefined> {
  const slug = world.model.nextSlug();
  const row = (await world.done(['org', 'create', '--org', slug, '--name', `The ${slug}`])) as
    | { id: string }
    | undefined;
  if (row === undefined) return undefined;
  const organization = new ModelOrganization(slug, row.id, world.model.hides);
  organization.own.must(`5010 Organization ${slug} created`);
  for (let n = 0; n < personsOfOrganization; n++)
    organization.persons.push({ email: `person-${n}@${slug}.example`, state: 'here', pending: 0 });
  await makeKey(world, organization, 'read,write');
  await makeUser(world, organization, 'admin');
  organization.scimKey = (await keyOf(world, organization, 'scim'))?.key;
  if (organization.keys.length > 0) world.model.organizations.push(organization);
  return organization;
}

/** A command without an answer leaves its key unknown. */
export const anyKeyCreated = /^1300 API key \S+ created$/;

async function keyOf(
  world: World,
  { slug, own }: ModelOrganization,
  scopes: string,
): Promise<Key | undefined> {
  const key = (await world.done(['key', 'create', '--org', slug, '--scopes', scopes])) as Key | undefined;
  if (key === undefined) own.may(anyKeyCreated);
  else own.must(`1300 API key ${key.id} created`);
  return key;
}

async function makeKey(world: World, organization: ModelOrganization, scopes: string): Promise<boolean> {
  const key = await keyOf(world, organization, scopes);
  if (key === undefined) return false;
  await world.knowKey(organization, key, scopes);
  return true;
}

async function makeUser(
  world: World,
  organization: ModelOrganization,
  role: ModelUser['role'],
): Promise<ModelUser | undefined> {
  const email = `${role}-${organization.nextUser()}@${organization.slug}.example`;
  const args = ['user', 'create', '--org', organization.slug, '--email', email, '--name', 'Somebody'];
  const row = await world.done([...args, '--role', role, '--password-stdin'], `${password}\n`);
  organization.own.note(`1000 User ${email} created`, row !== undefined);
  if (row === undefined) return undefined;
  const user: ModelUser = { email, password, role, cookie: '', state: 'good' };
  const answer = await until(
    'a new user signs in',
    () => email,
    async () => {
      const server = await world.service.up();
      const answered = await login(server, { email, password, organization: organization.slug }).catch(
        () => undefined,
      );
      if (answered?.status !== 401)
        organization.own.note(`1001 ${email} signed in`, answered?.status === 200);
      return answered?.status === 200 ? { server, answered } : undefined;
    },
  );
  user.cookie = sessionOf(answer.server, answer.answered).cookie;
  organization.users.push(user);
  return user;
}

const anyOrganization = (world: World, draw: Draw) => draw.pickAny(world.model.here);

type Change = (world: World, organization: ModelOrganization, draw: Draw) => Promise<string | undefined>;

/** Serializes work on an organization's keys and users. */
function changing(name: string, weight: number, change: Change): Operation {
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

/**
 * Ends one of several by a command, and notes it once the service knows it; the first stays, so that one is always
 * valid. If the result is unknown, the check at rest resolves it.
 */
async function endOne<T extends { state: string; endEvent?: string }>(
  world: World,
  own: OwnEvents,
  draw: Draw,
  good: readonly T[],
  args: (one: T) => readonly string[],
  eventOf: (one: T) => string,
  note: (one: T, row: unknown) => void,
): Promise<string | undefined> {
  const one = draw.pickAny(good.slice(1));
  if (one === undefined) return undefined;
  one.state = 'unsure';
  const row = await world.done(args(one));
  if (row === undefined) one.endEvent = eventOf(one);
  else own.must(eventOf(one));
  if (row !== undefined) await sleep(patiently(limits.graceMs) / 3);
  note(one, row);
  return `${args(one).join(' ')}${row === undefined ? ': nobody knows' : ''}`;
}

const revokeKey: Change = (world, { own, goodKeys }, draw) =>
  endOne(
    world,
    own,
    draw,
    goodKeys,
    ({ id }) => ['key', 'revoke', id],
    ({ id }) => `1302 API key ${id} revoked`,
    (key, row) => {
      if (row !== undefined) key.state = 'revoked';
    },
  );

const rotateKey: Change = (world, { own, goodKeys, keys }, draw) =>
  endOne(
    world,
    own,
    draw,
    goodKeys,
    ({ id }) => ['key', 'rotate', id, '--grace', '0'],
    ({ id }) => `1303 API key ${id} rotated`,
    (key, row) => {
      // The new secret of an interrupted command is unknown: the key counts as revoked.
      if (row === undefined) {
        own.may(`1303 API key ${key.id} rotated`);
        keys.splice(keys.indexOf(key), 1);
        return;
      }
      key.ended.push(key.text);
      key.text = (row as Key).key;
      key.state = 'good';
    },
  );

const disableUser: Change = (world, { own, users, slug }, draw) =>
  endOne(
    world,
    own,
    draw,
    users.filter(({ state }) => state === 'good'),
    ({ email }) => ['user', 'disable', email, '--org', slug],
    ({ email }) => `1006 User ${email} disabled`,
    (user, row) => {
      if (row !== undefined) user.state = 'disabled';
    },
  );

async function deleteOrganization(world: World, draw: Draw): Promise<string | undefined> {
  const candidates = world.model.here.slice(2).filter(({ tampered }) => tampered === undefined);
  const organization = draw.pickAny(candidates);
  if (organization === undefined) return undefined;
  const { slug } = organization;
  return world.alone(`${slug} policy`, async () => {
    const { held } = organization;
    if (held) {
      const refused = await world.command(['org', 'delete', '--org', slug, '--confirm', '0']);
      hold(refused.code !== 0, 'a hold is kept', () => `${slug} was deleted: ${brief(refused.stdout)}`);
      return `${slug}: deletion refused, as it is held`;
    }
    organization.state = 'deleting';
    const count = await confirmed(world, ['org', 'delete', '--org', slug]);
    if (count === undefined) return `${slug}: deletion: nobody knows`;
    await sleep(patiently(limits.graceMs));
    organization.state = 'deleted';
    return `${slug}: deleted with ${count} events`;
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
    async (world, organization, draw) =>
      `${organization.slug}: ${(await makeUser(world, organization, draw.pick(['auditor', 'member'])))?.email} made`,
  ),
  changing('disable a user', 1, disableUser),
];
