import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, type HttpAnswer } from '../../support/http.ts';
import type { Draw } from '../draw.ts';
import { login, sessionOf } from '../../e2e/session-support.ts';
import { brief, difference, hold } from '../finding.ts';
import type { Control, ModelOrganization } from '../model.ts';
import type { Operation, World } from '../world.ts';
import { runAndKill } from './killed-command.ts';

/**
 * Changes of control data by HTTP, SCIM and commands whose answers may be cut. At the next rest each answer is
 * compared with state and events. Until then nothing changes the same thing again.
 */

const giveUpMsMax = 400;
const repeatsMax = 4;
const changesAtOnceMax = 10;
const killAfterMsMax = 2_500;
const repeatPauseMs = 100;

interface Settings {
  readonly name: string;
  readonly receipts: string;
}

type Account = Control['users'][number];
type KeyShown = Control['keys'][number];

/** A wanted change. */
interface Wanted {
  /** Only one change of it at a time. */
  readonly about: string;
  /** The required events, by the present state; none if the change was not made. */
  events(now: Control, world: World): readonly string[] | Promise<readonly string[]>;
  /** The event of each repeat, which makes another secret. */
  readonly again?: string;
}

interface Call extends Wanted {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** A requested change, and its answers. */
export interface AskedChange extends Wanted {
  readonly said: string;
  outcome: 'made' | 'not made' | 'unknown';
  /** Tries with an unknown result. */
  doubts: number;
  /** Repeats a change by HTTP. */
  readonly repeat?: (isCut?: boolean) => Promise<void>;
}

const doubt = /cannot be told|unknown whether/;

/** A change that may be sent any number of times, with one key. */
function askedBy(
  world: World,
  organization: ModelOrganization,
  { method, path, body, headers, ...wanted }: Call,
  cutMs: number,
): AskedChange & Required<Pick<AskedChange, 'repeat'>> {
  const key = randomUUID();
  const said = `${organization.slug}: ${method} ${path} of ${wanted.about}`;
  const asked: AskedChange & Required<Pick<AskedChange, 'repeat'>> = {
    ...wanted,
    said,
    outcome: 'not made',
    doubts: 0,
    async repeat(isCut = false) {
      const answer = await world.ask(path, {
        organization,
        method,
        headers: { ...headers, 'idempotency-key': key },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(isCut && { timeoutMs: cutMs, isCut }),
        isFinal: true,
      });
      note(asked, organization, answer);
    },
  };
  return asked;
}

/** Notes an answer about a change and its earlier tries. */
function note(asked: AskedChange, { state }: ModelOrganization, answer: HttpAnswer | undefined): void {
  const { status = 0, text = '' } = answer ?? {};
  if (status >= 200 && status < 300) asked.outcome = 'made';
  else if (answer === undefined || doubt.test(text)) {
    asked.outcome = 'unknown';
    asked.doubts += 1;
  } else if (status >= 500) {
    if (asked.doubts === 0) asked.outcome = 'not made';
  } else hold(state !== 'here', 'no answer lies', () => `${asked.said}: ${status} ${brief(text)}`);
}

const createdUser = (email: string): Wanted => ({
  about: email,
  events: ({ users }) => (users.some((one) => one.email === email) ? [`1000 User ${email} created`] : []),
});

const createdKey = (name: string): Wanted => ({
  about: name,
  // A repeat ends the unseen key, and makes another.
  events: ({ keys }) =>
    keys
      .filter((key) => key.name === name)
      .flatMap(({ id, revoked_at }) => [
        `1300 API key ${id} created`,
        ...(revoked_at === undefined ? [] : [`1302 API key ${id} revoked`]),
      ]),
});

const renamed = (slug: string, name: string): Wanted => ({
  about: 'settings',
  events: (now) => (now.name === name ? [`5011 Organization ${slug} changed`] : []),
});

const disabled = ({ id, email }: Account): Wanted => ({
  about: email,
  events: ({ users }) =>
    users.some((one) => one.id === id && one.disabled_at !== undefined)
      ? [`1006 User ${email} disabled`]
      : [],
});

const inRole = ({ id, email }: Account, role: string): Wanted => ({
  about: email,
  events: ({ users }) =>
    users.some((one) => one.id === id && one.role === role) ? [`1020 Role of ${email} changed`] : [],
});

const revoked = ({ id, name }: KeyShown): Wanted => ({
  about: name ?? id,
  events: ({ keys }) =>
    keys.some((one) => one.id === id && one.revoked_at !== undefined) ? [`1302 API key ${id} revoked`] : [],
});

const rotated = ({ id, name, previous_valid_until: before }: KeyShown): Wanted => ({
  about: name ?? id,
  events: ({ keys }) =>
    keys.some((one) => one.id === id && one.previous_valid_until !== before)
      ? [`1303 API key ${id} rotated`]
      : [],
  again: `1303 API key ${id} rotated`,
});

const isMade = (name = ''): boolean => name.startsWith('made-');
const json = 'application/json';

/** An unused name, and things that existed at the last rest and can be changed. */
function drawn({ control }: ModelOrganization, draw: Draw) {
  return {
    unique: `made-${draw.int(0, 1e9)}`,
    user: draw.pickAny(
      control.users.filter(({ email, disabled_at }) => isMade(email) && disabled_at === undefined),
    ),
    key: draw.pickAny(
      control.keys.filter(({ name, revoked_at }) => isMade(name) && revoked_at === undefined),
    ),
  };
}

function drawCall(organization: ModelOrganization, cookie: string, draw: Draw): Call {
  const { slug, scimKey } = organization;
  const { unique, user, key } = drawn(organization, draw);
  const email = `${unique}@${slug}.example`;
  const portal = '/api/v1/portal';
  const headers = { cookie, 'content-type': json };
  const post = { headers, method: 'POST' } as const;
  const scim = { 'x-api-key': scimKey ?? '', 'content-type': 'application/scim+json' };
  const calls: Call[] = [
    { ...post, ...createdUser(email), path: `${portal}/users`, body: { email, name: 'N', role: 'member' } },
    { ...post, ...createdKey(unique), path: `${portal}/api-keys`, body: { name: unique, scopes: ['read'] } },
    {
      headers,
      method: 'PATCH',
      ...renamed(slug, unique),
      path: `${portal}/settings`,
      body: { name: unique },
    },
  ];
  if (scimKey !== undefined)
    calls.push({
      ...createdUser(email),
      method: 'POST',
      path: '/scim/v2/Users',
      headers: scim,
      body: { userName: email },
    });
  if (user !== undefined) {
    const role = user.role === 'member' ? 'auditor' : 'member';
    const path = `${portal}/users/${user.id}`;
    calls.push(
      { ...post, ...disabled(user), path: `${path}/disable` },
      { headers, method: 'PATCH', ...inRole(user, role), path, body: { role } },
    );
    if (scimKey !== undefined)
      calls.push({ ...disabled(user), method: 'DELETE', path: `/scim/v2/Users/${user.id}`, headers: scim });
  }
  if (key !== undefined) {
    const path = `${portal}/api-keys/${key.id}`;
    calls.push(
      { ...post, ...revoked(key), path: `${path}/revoke` },
      { ...post, ...rotated(key), path: `${path}/rotate`, body: { grace: '24h' } },
    );
  }
  return draw.pick(calls);
}

function drawCommand(
  organization: ModelOrganization,
  draw: Draw,
): Wanted & { readonly args: readonly string[] } {
  const { slug } = organization;
  const { unique, user, key } = drawn(organization, draw);
  const email = `${unique}@${slug}.example`;
  const org = ['--org', slug];
  const someone = ['--email', email, '--name', 'N', '--role', 'member', '--password-stdin'];
  return draw.pick([
    { ...createdKey(unique), args: ['key', 'create', ...org, '--scopes', 'read', '--name', unique] },
    { ...createdUser(email), args: ['user', 'create', ...org, ...someone] },
    { ...renamed(slug, unique), args: ['org', 'set', ...org, '--name', unique] },
    ...(user === undefined ? [] : [{ ...disabled(user), args: ['user', 'disable', user.email, ...org] }]),
    ...(key === undefined ? [] : [{ ...revoked(key), args: ['key', 'revoke', key.id] }]),
  ]);
}

/** Draws a change about something that no requested change is about. */
function changing(
  name: string,
  weight: number,
  run: (
    world: World,
    organization: ModelOrganization,
    cookie: string,
    draw: Draw,
  ) => Promise<string | undefined>,
): Operation {
  return {
    name,
    weight,
    kind: 'actor',
    run: async (world, draw) => {
      const organization = draw.pickAny(world.model.here);
      const admin = organization?.users.find(({ role }) => role === 'admin');
      if (organization === undefined || admin === undefined) return undefined;
      return run(world, organization, admin.cookie, draw);
    },
  };
}

/** Sends a call until an answer gives its result, or gives up; the first answer may be cut. */
async function make(
  world: World,
  organization: ModelOrganization,
  call: Call,
  draw: Draw,
): Promise<string | undefined> {
  if (organization.asked.some(({ about }) => about === call.about)) return undefined;
  const asked = askedBy(world, organization, call, draw.int(1, giveUpMsMax));
  organization.asked.push(asked);
  await asked.repeat(draw.chance(0.3));
  for (let left = draw.int(0, repeatsMax); left > 0 && asked.outcome !== 'made'; left--) {
    await sleep(repeatPauseMs);
    await asked.repeat(draw.chance(0.2));
  }
  return `${asked.said}: ${asked.outcome}`;
}

const signOut = changing('end a session', 0.5, async (world, organization, _, draw) => {
  const admin = organization.users.find(({ role }) => role === 'admin');
  if (admin === undefined) return undefined;
  const { email, password } = admin;
  const server = await world.service.up();
  const answer = await login(server, { email, password, organization: organization.slug }).catch(
    () => undefined,
  );
  organization.own.note(`1001 ${email} signed in`, answer?.status === 200);
  if (answer?.status !== 200) return undefined;
  const { cookie } = sessionOf(server, answer);
  const events = async (_now: Control, { service }: World): Promise<readonly string[]> => {
    const { url } = await service.up();
    const { status } = await call(`${url}/api/v1/portal/whoami`, { headers: { cookie } });
    return status === 401 ? [`1003 ${email} signed out`] : [];
  };
  const ending = {
    about: `session …${cookie.slice(-12)}`,
    events,
    method: 'POST',
    path: '/api/v1/auth/logout',
  };
  return make(world, organization, { ...ending, headers: { cookie, 'content-type': json }, body: {} }, draw);
});

/** A command in its own process, killed at any moment, just before it writes, or not at all. */
const byCommand = changing('kill a command', 2, async (world, organization, _, draw) => {
  const { args, ...wanted } = drawCommand(organization, draw);
  if (organization.asked.some(({ about }) => about === wanted.about)) return undefined;
  const said = `${organization.slug}: ${args.join(' ')}`;
  const asked: AskedChange = { ...wanted, said, outcome: 'unknown', doubts: 0 };
  organization.asked.push(asked);
  const afterMs = draw.chance(0.5) ? undefined : draw.int(100, killAfterMsMax);
  const { code, words } = await runAndKill(world, args, afterMs, 'a long enough password\n');
  if (code === 0) asked.outcome = 'made';
  else if (code !== null && !doubt.test(words)) asked.outcome = 'not made';
  return `${said}: ${code === null ? 'killed' : `${code} ${brief(words)}`}`;
});

/** One after the other, so that a fault meets some: each takes milliseconds. */
const several = changing('change control data', 3, async (world, organization, cookie, draw) => {
  const said: string[] = [];
  for (let left = draw.int(1, changesAtOnceMax); left > 0; left--) {
    const one = await make(world, organization, drawCall(organization, cookie, draw), draw);
    if (one !== undefined) said.push(one);
  }
  return said.length === 0 ? undefined : said.join('; ');
});

export const changes: readonly Operation[] = [several, signOut, byCommand];

async function list<T>(
  world: World,
  organization: ModelOrganization,
  cookie: string,
  path: string,
): Promise<T> {
  const answer = await world.ask(`/api/v1/portal/${path}`, { organization, headers: { cookie } });
  hold(answer?.status === 200, 'what is good stays good', () => `${path}: ${answer?.status} ${answer?.text}`);
  return JSON.parse(answer.text) as T;
}

/** At rest: changes are as answered, successful ones have their events, and nothing else has changed. */
export async function resolveChanges(
  world: World,
  organization: ModelOrganization,
  draw: Draw,
): Promise<void> {
  const admin = organization.users.find(({ role }) => role === 'admin');
  if (admin === undefined) return;
  const { cookie } = admin;
  const { asked: all, control: before, own } = organization;
  for (const one of all) if (one.outcome === 'unknown' && draw.chance(0.5)) await one.repeat?.();
  // A request that the client gave up may still run: it precedes a change that changes nothing.
  const settings = await list<Settings>(world, organization, cookie, 'settings');
  const headers = { cookie, 'content-type': json };
  const body = JSON.stringify({ receipts: settings.receipts });
  await world.ask('/api/v1/portal/settings', { organization, method: 'PATCH', headers, body });
  const now: Control = {
    users: (await list<{ data: Control['users'] }>(world, organization, cookie, 'users')).data,
    keys: (await list<{ data: Control['keys'] }>(world, organization, cookie, 'api-keys')).data,
    name: (await list<Settings>(world, organization, cookie, 'settings')).name,
  };
  for (const one of all) {
    const events = await one.events(now, world);
    const isTrue = one.outcome === 'unknown' || (one.outcome === 'made') === events.length > 0;
    hold(
      isTrue,
      'no answer lies',
      () => `${one.said}: ${one.outcome}, and the state has events [${events.join()}]`,
    );
    for (const event of events) own.must(event);
    if (one.again !== undefined && events.length > 0) own.may(one.again, one.doubts);
  }
  const abouts = new Set(all.map(({ about }) => about));
  const rest = (control: Control): string =>
    JSON.stringify([
      control.users.filter(({ email }) => isMade(email) && !abouts.has(email)),
      control.keys.filter(({ name = '' }) => isMade(name) && !abouts.has(name)),
      isMade(before.name) && !abouts.has('settings') && control.name,
    ]);
  hold(rest(now) === rest(before), 'nothing changes by itself', () => difference(rest(now), rest(before)));
  organization.control = now;
  all.splice(0);
}
