import type { Draw } from '../draw.ts';
import { hold } from '../finding.ts';
import type { ModelOrganization } from '../model.ts';
import { until } from '../waiting.ts';
import type { World } from '../world.ts';

/** Access: revoked, disabled and deleted things stay so, valid ones stay valid. */

async function statusOf(
  world: World,
  organization: ModelOrganization,
  headers: Record<string, string>,
  path: string,
) {
  const answer = await world.ask(path, { organization, headers: { ...headers, connection: 'close' } });
  return answer?.status;
}

async function holdRefused(
  world: World,
  organization: ModelOrganization,
  what: string,
  headers: Record<string, string>,
  path: string,
) {
  const status = await statusOf(world, organization, headers, path);
  hold(
    status === undefined || status === 401,
    'what was ended stays ended',
    () => `${what} of ${organization.slug}: ${status} on ${path}`,
  );
}

export async function checkAccess(world: World, organization: ModelOrganization, draw: Draw): Promise<void> {
  const page = '/api/v1/audit?limit=1';
  const whoami = '/api/v1/portal/whoami';
  const isGone = organization.state === 'deleted';
  for (const key of organization.keys) {
    for (const text of key.ended)
      await holdRefused(world, organization, 'a rotated key', { 'x-api-key': text }, page);
    if (key.state === 'revoked' || isGone)
      await holdRefused(world, organization, `the key ${key.id}`, { 'x-api-key': key.text }, page);
    else if (key.state === 'good' && key.scopes.includes('read'))
      await until(
        'what is good stays good',
        () => `the key ${key.id} of ${organization.slug}`,
        async () => {
          const status = await statusOf(world, organization, { 'x-api-key': key.text }, page);
          return status === 200 || status === undefined || undefined;
        },
      );
  }
  for (const user of organization.users) {
    if (user.state === 'disabled' || isGone)
      await holdRefused(world, organization, `the session of ${user.email}`, { cookie: user.cookie }, whoami);
    else if (user.state === 'good') {
      const status = await statusOf(world, organization, { cookie: user.cookie }, whoami);
      hold(
        status === undefined || status === 200,
        'what is good stays good',
        () => `the session of ${user.email}: ${status}`,
      );
    }
  }
  const ended = draw.pickAny(organization.users.filter(({ state }) => state === 'disabled' || isGone));
  if (ended === undefined) return;
  const answer = await world.ask('/api/v1/auth/login-handler', {
    organization,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: ended.email, password: ended.password, organization: organization.slug }),
  });
  if (!isGone) organization.own.note(`1002 A login as ${ended.email} was refused`, answer !== undefined);
  hold(
    answer === undefined || answer.status === 401,
    'what was ended stays ended',
    () => `a login of ${ended.email}: ${answer?.status}`,
  );
}
