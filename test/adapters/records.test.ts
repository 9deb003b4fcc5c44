import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { validateEvent } from '../../src/ocsf/ocsf110/validate.ts';
import { map } from '../ocsf/arbitrary.ts';
import { type OcsfEvent, ocsf110Text } from '../ocsf/ocsf110-support.ts';
import { mappedBy, mappingOf } from '../support/mappings.ts';
import { aws, github, kubernetes, okta } from './records.ts';

/** The valid event of a record. */
function eventOf(name: string, record: object): OcsfEvent {
  const events = mappedBy(mappingOf(name), record);
  if (typeof events === 'string') assert.fail(events);
  const [event = assert.fail(), ...more] = events;
  assert.equal(more.length, 0);
  const row = map(event);
  if (typeof row === 'string') assert.fail(`${row}: ${event}`);
  const ocsf = JSON.parse(ocsf110Text(row.source, row.timeMicros)) as OcsfEvent;
  assert.deepEqual(validateEvent(ocsf), [], event);
  return ocsf;
}

type Named = { readonly name?: string; readonly uid?: string; readonly email_addr?: string } | undefined;
const nameOf = (one: Named): string | undefined => one && (one.email_addr ?? one.name ?? one.uid);

/** Class, activity, actor and other facts; unusual values of `from` and outcome. */
function factsIn(event: OcsfEvent): string {
  const { class_name: what, activity_id: id, activity_name: activity, actor, user, group, file } = event;
  const place = event['src_endpoint'] ?? event['device'] ?? {};
  const from = place.ip ?? place.hostname ?? place.name;
  const resource = event['entity'] ?? event['resources']?.[0];
  const parts = {
    by: nameOf(actor.user) ?? 'nobody',
    to: nameOf(user),
    group: nameOf(group),
    of: resource && (resource.name ?? resource.uid),
    file: file?.name,
    as: event['privileges']?.join(', '),
    from: from === '198.51.100.7' || from === 'Unknown' ? undefined : from,
  };
  const texts = Object.entries(parts).flatMap(([name, text]) =>
    text === undefined ? [] : [`${name} ${text}`],
  );
  const failure = event['status_id'] === 2 ? [`failed ${event['status_code']}`] : [];
  const detail = String(event['status_detail'] ?? '');
  const unknown = detail.startsWith('outcome unknown: ') ? [detail.replace('outcome ', '')] : [];
  return [`${what}: ${id === 99 ? 'Other' : activity}`, ...texts, ...failure, ...unknown].join(' | ');
}

/** Lines also show time, severity, message and flow. */
function lineFactsIn(event: OcsfEvent): string {
  const { time, severity, message, metadata } = event;
  const at = new Date(time).toISOString();
  const operation = event['api']?.operation;
  return [
    factsIn(event).replace('API Activity: ', `${operation}: `),
    at === '2026-03-01T10:00:00.000Z' ? [] : `at ${at}`,
    severity === 'Informational' ? [] : `severity ${severity}`,
    message === operation ? [] : `says ${message}`,
    metadata.correlation_uid === undefined ? [] : `flow ${metadata.correlation_uid}`,
  ]
    .flat()
    .join(' | ');
}

type Build = (...args: never[]) => object;
const builders: Readonly<Record<string, Build>> = { okta, github, cloudtrail: aws, kubernetes };

const file = new URL('../fixtures/adapters/records.txt', import.meta.url);
const sections = readFileSync(file, 'utf8').split(/^## /m).slice(1);
for (const section of sections) {
  const [title = '', ...lines] = section.split('\n');
  const [name = ''] = title.split(':');
  const rows = lines.filter((line) => line !== '' && !line.startsWith('# ')).map((line) => line.split(' → '));
  test(title, () => {
    const read = rows.map(([given = '']) => {
      const args = JSON.parse(`[${given}]`) as never[];
      const build = builders[name];
      return build === undefined
        ? lineFactsIn(eventOf(name, args[0] ?? {}))
        : factsIn(eventOf(name, build(...args)));
    });
    assert.deepEqual(
      read,
      rows.map(([, expected]) => expected),
    );
  });
}

test('github: an actor with "False" as its mark of bots is a person', () => {
  const typeOf = (actor_is_bot: unknown) =>
    eventOf('github', github('git.push', { actor_is_bot }))['actor'].user?.type;
  assert.deepEqual(['False', false, 'True', true].map(typeOf), ['User', 'User', 'System', 'System']);
  const bot = eventOf('github', github('git.push', { actor: 'dependabot[bot]' }));
  assert.equal(bot['actor'].user?.type, 'System');
});

test('cloudtrail: an activity is named by its service, too', () => {
  const record = aws('CreateUser', { userName: 'bob' }, { eventSource: 'transfer.amazonaws.com' });
  assert.equal(eventOf('cloudtrail', record)['api'].operation, 'transfer:CreateUser');
});

test('kubernetes: what secrets hold is stored in no form', () => {
  const hidden = ['aHVudGVyMg==', 'hunter2', 'S2VlcA=='];
  const last = { 'kubectl.kubernetes.io/last-applied-configuration': `{"data":{"a":"${hidden[0]}"}}` };
  const secret = {
    kind: 'Secret',
    metadata: { name: 'db', annotations: { ...last, note: 'kept' } },
    data: { user: hidden[0], deep: { n: 1 } },
    stringData: { user: hidden[1] },
    type: 'Opaque',
  };
  const ref = { resource: 'secrets', namespace: 'prod', name: 'db', apiVersion: 'v1' };
  for (const more of [
    { requestObject: secret, responseObject: { ...secret, data: [hidden[2]] } },
    { responseObject: { kind: 'SecretList', items: [secret, secret] } },
    { requestObject: [{ op: 'replace', path: '/data/user', value: hidden[0] }] },
  ]) {
    const event = eventOf('kubernetes', kubernetes('update', ref, more));
    assert.equal(event['entity']?.name ?? event['resources']?.[0]?.name, 'prod/db');
    const text = JSON.stringify(event);
    for (const one of hidden) assert.ok(!text.includes(one), `${one} in ${text}`);
    assert.ok(text.includes('[redacted]') && text.includes('auditID'));
  }
  const map = { kind: 'ConfigMap', data: { color: 'blue' } };
  const kept = eventOf(
    'kubernetes',
    kubernetes('update', { resource: 'configmaps', name: 'c' }, { requestObject: map }),
  );
  assert.deepEqual(kept['unmapped'].extra.kubernetes.requestObject, map);
});

test('kubernetes: an executed command is part of the activity, and an impersonated user is the delegate', () => {
  const event = eventOf(
    'kubernetes',
    kubernetes(
      'create',
      { resource: 'pods', subresource: 'exec', name: 'web-1' },
      { impersonatedUser: { username: 'system:admin' } },
    ),
  );
  assert.equal(event['api'].operation, 'create pods/exec');
  assert.deepEqual(event['unmapped'].actor.delegate, { name: 'system:admin' });
});
