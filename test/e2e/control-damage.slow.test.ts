import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { inEngineOf } from '../support/engine.ts';
import { flipBit } from '../support/flip-bit.ts';
import { call, eventually } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createKey, createTenant, keyKnown, printed, sourceEvent, type Tenant } from '../support/server.ts';

/**
 * A disk damages the journal of control data: the service reports it, and refuses the organizations concerned
 * until an operator decides.
 */

const service = keptService();
const password = 'correct horse battery';
let kept: Tenant;
let other: Tenant;
let revoked: string;

const cli = async (...args: string[]) => {
  const answer = await service.server.cliHere(args, `${password}\n`);
  assert.equal(answer.code, 0, answer.stderr);
  return answer;
};

/** Two organizations; the first has a user, and a key whose revocation is the newest change. */
async function makeBoth(): Promise<void> {
  await service.ready();
  kept = await createTenant(service.server, 'kept');
  other = await createTenant(service.server, 'other');
  const user = ['--org', 'kept', '--email', 'eve@kept.test', '--name', 'Eve', '--role', 'auditor'];
  await cli('user', 'create', ...user, '--password-stdin');
  const { key, id } = await createKey(service.server, ['--org', 'kept', '--scopes', 'read,write']);
  await keyKnown(service.server, key);
  revoked = key;
  await cli('key', 'revoke', id);
}

before(makeBoth);

const sendBy = async (key: string): Promise<number> => {
  const headers = { 'content-type': 'application/json', 'x-api-key': key };
  const body = JSON.stringify([sourceEvent()]);
  return (await call(`${service.server.url}/api/v1/audit`, { method: 'POST', headers, body })).status;
};

const signIn = async (): Promise<number> => {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ email: 'eve@kept.test', password, organization: 'kept' });
  return (await call(`${service.server.url}/api/v1/auth/login-handler`, { method: 'POST', headers, body }))
    .status;
};

/** Results for the first organization's key, user and revoked key, and the other's key. */
const outcomes = async (): Promise<number[]> => [
  await sendBy(kept.key),
  await signIn(),
  await sendBy(revoked),
  await sendBy(other.key),
];

interface Readiness {
  readonly checks: Readonly<Record<string, boolean>>;
  readonly damage?: readonly { readonly kind: string; readonly id: string; readonly detail: string }[];
}
const readiness = async () => JSON.parse((await call(`${service.server.url}/readyz`)).text) as Readiness;

/** Ids of damaged control data that a running service reports. */
async function told(): Promise<string[]> {
  const { damage = [] } = await readiness();
  return damage.flatMap(({ kind, id }) => (kind === 'control_data' ? [id] : []));
}

/** Ids that `doctor` reports. */
async function namedByDoctor(): Promise<string[]> {
  const examined = await service.server.cliHere(['doctor', '--quick', '--json']);
  const { checks } = JSON.parse(examined.stdout.split('\n')[0] ?? '') as {
    checks: { name: string; findings: { id: string }[] }[];
  };
  const found = checks.find((one) => one.name === 'control_data')?.findings.map(({ id }) => id) ?? [];
  assert.equal(examined.code === 1, found.length > 0, examined.stdout);
  return found;
}

interface Repaired {
  readonly tables: readonly { readonly table: string; readonly parts_taken_out: readonly string[] }[];
  readonly accepted: readonly {
    readonly place: number;
    readonly detail: string;
    readonly organization: string | null;
  }[];
}
const repaired = async () => printed(await cli('doctor', '--repair', '--json')) as Repaired;

/** Changes rows of the journal while nothing runs; resolves with the last place before. */
const harm = (how: (last: number) => string): Promise<number> =>
  inEngineOf(service.dataDir, async (storage) => {
    const [row] = await storage.rows<{ last: string }>('SELECT toString(max(place)) AS last FROM journal');
    const last = Number(row?.last);
    await storage.command(`ALTER TABLE journal ${how(last)} SETTINGS mutations_sync = 2`);
    return last;
  });

/** Path of the newest part of the journal; the engine has ended. */
const newestPart = (): Promise<string> =>
  inEngineOf(service.dataDir, async (storage) => {
    const [row] = await storage.rows<{ path: string }>(
      `SELECT path FROM system.parts WHERE database = currentDatabase() AND active AND table = 'journal'
       ORDER BY max_block_number DESC LIMIT 1`,
    );
    return row?.path ?? assert.fail('the journal has a part');
  });

// `journal.test.ts` has every kind of damaged row; the simulator damages a running service.
describe('harmed while the service does not run', () => {
  test('the newest change is missing: all are refused, until an operator accepts it', async () => {
    assert.deepEqual(await outcomes(), [202, 200, 401, 202]);
    await service.server.stop();
    const last = await harm((place) => `DELETE WHERE place = ${place}`);
    const name = `journal ${last}`;
    assert.deepEqual(await namedByDoctor(), [name]);
    await service.start();
    assert.deepEqual(await outcomes(), [503, 503, 503, 503]);
    assert.deepEqual(await told(), [name]);
    assert.equal((await readiness()).checks['nothing_damaged'], false);
    const words = new RegExp(`row ${last} of the journal of control data is missing: until`);
    assert.equal(service.server.stderrLines().filter((line) => words.test(line)).length, 1);
    const { accepted } = await repaired();
    assert.deepEqual(accepted, [{ place: last, detail: 'is missing', organization: null }]);
    await eventually('it is accepted', async () => ((await told()).length === 0 ? true : undefined));
    // The lost revocation is void: the operator was asked to check.
    assert.deepEqual(await outcomes(), [202, 200, 202, 202]);
    assert.match((await cli('doctor', '--repair')).stdout, /nothing was repaired/);
    assert.deepEqual(await namedByDoctor(), []);
  });

  test('a change of one organization is altered: that one is refused, and the others are not', async () => {
    await service.server.stop();
    const { id } = kept.organization;
    await harm(() => `UPDATE parts = replaceAll(parts, '"auditor"', '"admin"') WHERE org = '${id}'`);
    const names = await namedByDoctor();
    assert.equal(names.length, 1);
    await service.start();
    assert.deepEqual(await told(), names);
    assert.deepEqual(await outcomes(), [503, 401, 503, 202]);
    const { accepted } = await repaired();
    const [one] = accepted;
    assert.deepEqual([accepted.length, one?.detail, one?.organization], [1, 'is not as it was written', id]);
    await eventually('it is accepted', async () => ((await told()).length === 0 ? true : undefined));
    assert.deepEqual(await outcomes(), [202, 401, 202, 202], 'without the user, whom nobody knows any more');
    const acceptances = async (tenant: Tenant): Promise<number> => {
      const { data } = await tenant.with({ server: service.server }).page({ limit: '1000' });
      return data.filter(({ activity_id: code }) => code === 4041).length;
    };
    await eventually('each organization to be told', async () =>
      (await acceptances(kept)) === 2 && (await acceptances(other)) === 1 ? true : undefined,
    );
  });

  test('a part that cannot be read: the doctor names it, and takes it out', async () => {
    await cli('org', 'hold', '--org', 'other', '--reason', 'a case');
    await service.server.stop();
    const part = await newestPart();
    await flipBit(join(part, 'data.bin'));
    const name = part.split('/').findLast((one) => one !== '') ?? '';
    assert.deepEqual(await namedByDoctor(), [`journal/${name}`]);
    await assert.rejects(service.start(), /part \S+ of the table journal is damaged; run "auditlog doctor"/);
    const { tables, accepted } = await repaired();
    assert.deepEqual(tables, [{ table: 'journal', parts_taken_out: [name] }]);
    // A merge may have moved the row that accepted the earlier damage into this part.
    assert.ok(accepted.some(({ detail }) => detail === 'is missing'));
    await service.start();
    assert.deepEqual(await told(), []);
    assert.equal((await readiness()).checks['nothing_damaged'], true);
  });

  test('all of it is missing: everybody is refused, and an operator can begin anew', async () => {
    await service.server.stop();
    await harm(() => 'DELETE WHERE true');
    const names = await namedByDoctor();
    assert.ok(names.length > 5 && names[0] === 'journal 1', names.join());
    await service.start();
    assert.deepEqual(await outcomes(), [503, 503, 503, 503]);
    assert.deepEqual(await told(), names);
    assert.equal((await repaired()).accepted.length, names.length);
    await eventually('it is accepted', async () => ((await told()).length === 0 ? true : undefined));
    assert.deepEqual(await outcomes(), [401, 401, 401, 401]);
    await makeBoth();
    assert.deepEqual(await outcomes(), [202, 200, 401, 202]);
  });
});
