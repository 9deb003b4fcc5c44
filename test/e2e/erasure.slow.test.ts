import { strict as assert } from 'node:assert';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { alteringEvents } from '../support/chosen-engine.ts';
import { call, eventually } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createKey, createTenant, printed, sourceEvent, type Tenant } from '../support/server.ts';
import { healthyOn, type Verification, verifyOn } from '../support/verification.ts';
import { withEngine } from './export-support.ts';

const service = keptService({}, { evidenceMs: 200, retentionGraceMs: 1000 });
const email = 'Ana.Maria@acme.example';

interface Erasure {
  readonly id: string | null;
  readonly pseudonym: string;
  readonly events: number;
  readonly state: string;
  readonly account: { readonly id: string; readonly erased: boolean } | null;
}

const detailsOf = (confirm: Verification['confirm']) => confirm.map(({ detail }) => detail);

/** Each contains the person. */
const theirs = [
  { actor: email.toUpperCase() },
  { actor: { id: 'u-1', name: 'Ana Maria', email }, remote: { ip: '198.51.100.7', port: 1234 } },
  { actor: { id: email, email: '' }, remote: { ip: '198.51.100.8' } },
  { actor: 'boss@acme.example', target: { id: 'u-1', name: 'Ana M.', type: 'user' } },
  { actor: 'boss@acme.example', sender: { email, file: 'cv.pdf' } },
  {
    actor: 'boss@acme.example',
    extra: { shared: [`Ana Maria <${email}>`, { display_name: 'A. M.', mail: email }] },
  },
  { actor: { name: 'ana maria' } },
  { actor: 'cron@acme.example', remote: { ip: '203.0.113.9' } },
];
/** None contains the person. */
const others = [
  { actor: 'diana.maria@acme.example', remote: { ip: '198.51.100.7' } },
  { actor: `${email}.org`, extra: { text: 'Ana Mariana' } },
  { actor: { name: 'Ana' }, target: 'Ana Maria Street' },
];

async function run(args: readonly string[]) {
  const answer = await service.server.cliHere(['erase', ...args, '--json']);
  return { ...answer, value: answer.code === 0 ? (printed(answer) as Erasure) : undefined };
}

const known = ['--email', email, '--name', 'Ana Maria', '--id', 'u-1', '--ip', '203.0.113.9'];

const verify = (args: readonly string[]) => verifyOn(service.server, args);
const healthy = (slug: string) => healthyOn(service.server, slug);

/** An organization's events by each kind of read, as one text. */
async function shown({ server, key }: Tenant): Promise<string[]> {
  const read = async (path: string) =>
    (await call(`${server.url}/api/v1/audit${path}`, { headers: { 'x-api-key': key } })).text;
  return Promise.all(
    ['?limit=1000', '/export?format=ndjson', '/export?format=csv', '/feed?limit=1000'].map(read),
  );
}

/** All columns of an organization's events in the engine. */
const stored = ({ organization }: Tenant) =>
  withEngine(service.server, async (storage) => {
    const rows = await storage.rows<object>('SELECT * FROM events WHERE org = {org:UUID} ORDER BY seq', {
      org: organization.id,
    });
    return rows as readonly { readonly seq: string; readonly source: string }[];
  });

const change = (sql: string, parameters: Record<string, unknown>) =>
  withEngine(service.server, (storage) =>
    storage.command(alteringEvents(storage, `${sql} SETTINGS mutations_sync = 2`), parameters),
  );

const person = /ana\.maria@acme\.example(?!\.org)(?<!diana.{20})|Ana Maria\b(?! Street)|A\. M\.|Ana M\./i;
const speaks = (text: string) => person.test(text.replaceAll('diana.maria@acme.example', ''));

test('a person is erased from every stored form, and verify reports any other change', async () => {
  const tenant = await createTenant(service.server, 'erasing');
  const { slug, id: org } = tenant.organization;
  const create = (...who: string[]) =>
    service.server.cliHere(
      ['user', 'create', '--org', slug, ...who, '--password-stdin', '--json'],
      'a long enough password\n',
    );
  const made = await create('--email', email, '--name', 'Ana Maria', '--role', 'admin');
  assert.equal(made.code, 0, made.stderr);
  const last = await service.server.cliHere(['erase', '--org', slug, ...known, '--account', 'erase']);
  assert.deepEqual([last.code, /is the last administrator/.test(last.stderr)], [1, true]);
  const chief = ['--email', 'chief@acme.example'];
  assert.equal((await create(...chief, '--name', 'Chief', '--role', 'admin')).code, 0);
  const both = ['erase', '--org', slug, ...known, ...chief, '--account', 'erase'];
  assert.match((await service.server.cliHere(both)).stderr, /the addresses have 2 accounts/);
  const events = [...theirs, ...others].map((message) => sourceEvent(message));
  // Some programs escape more than they need to.
  const escaped = JSON.stringify(sourceEvent({ actor: email })).replaceAll('@', '\\u0040');
  const answer = await call(`${tenant.server.url}/api/v1/audit`, {
    method: 'POST',
    headers: { 'x-api-key': tenant.key, 'content-type': 'application/json' },
    body: `[${events.map((event) => JSON.stringify(event)).join(',')},${escaped}]`,
  });
  assert.equal(answer.status, 202, answer.text);
  // Plus the event of creating the user.
  const count = theirs.length + 2;
  const counted = await eventually('all of them to be counted', async () => {
    const { value, stderr } = await run(['--org', slug, ...known]);
    assert.ok(value, stderr);
    return value.events === count ? value : undefined;
  });
  assert.deepEqual([counted.state, counted.id, counted.account?.erased], ['counted', null, false]);
  const preview = await service.server.cliHere(['erase', '--org', slug, ...known, '--account', 'erase']);
  assert.match(preview.stdout, /the account \S+ would be disabled and renamed to the pseudonym/);
  const before = await stored(tenant);

  // Refused: another number, or a held organization.
  const wrong = await run(['--org', slug, ...known, '--confirm', String(count + 1)]);
  assert.match(wrong.stderr, new RegExp(`in ${count} stored events, and ${count + 1} were confirmed`));
  const hold = (...args: string[]) => service.server.cliHere(['org', ...args]);
  assert.equal((await hold('hold', '--org', slug, '--reason', 'a case')).code, 0);
  assert.match((await run(['--org', slug, ...known])).stderr, /the organization is under a legal hold/);
  assert.equal((await hold('release', '--org', slug, '--reason', 'over')).code, 0);
  assert.deepEqual((await stored(tenant)).slice(0, before.length), before, 'nothing was changed');

  const done = await run(['--org', slug, ...known, '--confirm', String(count), '--account', 'erase']);
  assert.deepEqual(
    [done.value?.state, done.value?.events, done.value?.account?.erased],
    ['finished', count, true],
    done.stderr,
  );
  const pseudonym = done.value?.pseudonym ?? '';
  assert.equal(pseudonym, counted.pseudonym);

  // The person is no longer found, and all other content is the same byte by byte.
  const now = await stored(tenant);
  assert.ok(
    !now.some((row) => speaks(JSON.stringify(row))),
    JSON.stringify(now.find((row) => speaks(JSON.stringify(row)))),
  );
  for (const text of await shown(tenant)) assert.ok(!speaks(text), text);
  const same = before.filter(({ source }) => now.some((row) => row.source === source));
  assert.equal(same.length, before.length - count);
  assert.equal((await tenant.page({ actor: email })).meta.total, 0);
  assert.equal((await tenant.page({ actor: `${pseudonym}@erased.invalid` })).meta.total, 3);
  const journal = await withEngine(service.server, (storage) => storage.rows('SELECT * FROM journal'));
  assert.ok(!speaks(JSON.stringify(journal)), JSON.stringify(journal));
  assert.equal((await run(['--org', slug, ...known])).value?.events, 0, 'nothing is left to be erased');
  const { key } = await createKey(service.server, ['--org', slug, '--scopes', 'scim']);
  const revived = await call(`${tenant.server.url}/scim/v2/Users/${done.value?.account?.id}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/scim+json' },
    body: JSON.stringify({ Operations: [{ op: 'replace', path: 'active', value: true }] }),
  });
  assert.equal(revived.status, 409, revived.text);
  assert.match(revived.text, /This account was erased/);

  const { confirm } = await healthy(slug);
  assert.match(
    detailsOf(confirm).join('\n'),
    new RegExp(
      `${count} events were changed to erase a person, now called ${pseudonym} \\(event at position`,
    ),
  );
  await verifiesFiles(tenant, count);
  await findsOtherChanges(slug, org, now, before);
});

/** A file with the public key of an organization's log. */
async function keyOf(tenant: Tenant): Promise<string> {
  const key = join(service.dataDir, `${tenant.organization.slug}.key`);
  const headers = { 'x-api-key': tenant.key };
  const answer = await call(`${tenant.server.url}/api/v1/audit/evidence/key`, { headers });
  writeFileSync(key, `${(JSON.parse(answer.text) as { keys: { key: string }[] }).keys[0]?.key}\n`);
  return key;
}

/** Without the engine a file gives the same result, and only the tree's list is trusted. */
async function verifiesFiles(tenant: Tenant, count: number): Promise<void> {
  const file = join(service.dataDir, 'erased.ndjson');
  const key = await keyOf(tenant);
  const exported = await service.server.cliHere([
    'export',
    '--org',
    tenant.organization.slug,
    '--evidence',
    '-o',
    file,
  ]);
  assert.equal(exported.code, 0, exported.stderr);
  const text = readFileSync(file, 'utf8');
  const good = await verify([file, '--key', key]);
  assert.deepEqual(
    [good.findings, detailsOf(good.confirm).some((one) => one.startsWith(`${count} events were changed`))],
    [[], true],
  );
  const another = (_: string, before: string, digit: string) => `${before}${digit === '+' ? '/' : '+'}`;
  writeFileSync(file, text.replace(/("erasure":0,"list":".{20})(.)/, another));
  const forged = await verify([file, '--key', key]);
  assert.match(
    forged.findings[0]?.detail ?? '',
    /the list of erased events differs from the event at position/,
  );
  writeFileSync(file, text.replaceAll('@erased.invalid', '@erased.example'));
  const altered = await verify([file, '--key', key]);
  assert.match(altered.findings[0]?.detail ?? '', /differs from the recorded event/);
}

/** Later changes: an altered erased event, a restored event, a forged list. */
async function findsOtherChanges(
  slug: string,
  org: string,
  now: readonly { readonly seq: string; readonly source: string }[],
  before: readonly { readonly seq: string; readonly source: string }[],
): Promise<void> {
  const erased = now.find(({ source }) => source.includes('@erased.invalid'));
  assert.ok(erased);
  const was = before.find(({ seq }) => seq === erased.seq)?.source;
  const put = (source: string | undefined) =>
    change(
      'ALTER TABLE events UPDATE source = {source:String} WHERE org = {org:UUID} AND seq = toUInt64({seq:String})',
      {
        org,
        seq: erased.seq,
        source,
      },
    );
  for (const source of [erased.source.replace('acme', 'evil').replace('erased-', 'erased-0'), was]) {
    await put(source);
    const { findings } = await verify(['--org', slug]);
    assert.match(
      findings.map(({ detail }) => detail).join('\n'),
      /differs from the recorded event; in all 1 altered/,
    );
  }
  await put(erased.source);
  await healthy(slug);
  await change(
    "ALTER TABLE events UPDATE actor_email = 'x' WHERE org = {org:UUID} AND seq = toUInt64({seq:String})",
    { org, seq: erased.seq },
  );
  const shownOtherwise = await verify(['--org', slug]);
  assert.match(shownOtherwise.findings[0]?.detail ?? '', /differs from the recorded event; in all 1 altered/);
  await change(
    'ALTER TABLE erased_events UPDATE after = before WHERE org = {org:UUID} AND seq = toUInt64({seq:String})',
    { org, seq: erased.seq },
  );
  const { findings } = await verify(['--org', slug]);
  assert.match(findings[0]?.detail ?? '', /the list of erased events differs/);
}

test('an operator who changed a retention or erased a person can be erased: removals stay explained', async () => {
  const tenant = await createTenant(service.server, 'operators');
  const { slug } = tenant.organization;
  const timestamp = new Date(Date.now() - 40 * 86_400_000).toISOString();
  assert.equal((await tenant.post([1, 2, 3].map(() => sourceEvent({ timestamp })))).status, 202);
  const total = async () => (await tenant.page()).meta.total;
  await eventually('the events', async () => ((await tenant.page()).data.length >= 3 ? true : undefined));
  const before = await total();
  await healthy(slug);
  const set = await service.server.cliHere([
    'org',
    'set',
    '--org',
    slug,
    '--retention',
    '30d',
    '--confirm',
    '3',
  ]);
  assert.equal(set.code, 0, set.stderr);
  await eventually('that they are gone', async () =>
    (await stored(tenant)).some(({ source }) => source.includes(timestamp.slice(0, 10))) ? undefined : true,
  );
  assert.ok((await total()) < before + 1);
  const gone = (found: Verification) =>
    assert.match(detailsOf(found.confirm).join('\n'), /3 events were removed by the retention of 30 days/);
  gone(await healthy(slug));
  // The same operator changed the retention and, the second time, erased.
  const who = `${userInfo().username}@${hostname()}`;
  for (let turn = 0; turn < 2; turn++) {
    const { value } = await run(['--org', slug, '--email', who]);
    assert.ok((value?.events ?? 0) > 0);
    const done = await run(['--org', slug, '--email', who, '--confirm', String(value?.events)]);
    assert.equal(done.value?.state, 'finished', done.stderr);
    const found = await healthy(slug);
    gone(found);
    assert.equal(
      detailsOf(found.confirm).filter((one) => one.includes('to erase a person')).length,
      turn + 1,
    );
  }
  const file = join(service.dataDir, 'operators.ndjson');
  const evidence = ['export', '--org', slug, '--evidence', '-o', file];
  const stopped = await service.server.cliHere(evidence, '', Promise.resolve());
  assert.equal(stopped.code, 1);
  assert.match(stopped.stderr, /stopped: nothing is kept; the same command starts anew/);
  assert.deepEqual(
    readdirSync(service.dataDir).filter((name) => name.startsWith('operators.')),
    [],
  );
  const exported = await service.server.cliHere(evidence);
  assert.equal(exported.code, 0, exported.stderr);
  const found = await verify([file, '--key', await keyOf(tenant)]);
  assert.deepEqual(found.findings, []);
  gone(found);
});
