import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterEach, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { fromReadable, linesOf } from '../../src/base/bytes/byte-flow.ts';
import { EngineError } from '../../src/base/errors/engine-error.ts';
import { Problem } from '../../src/base/errors/problem.ts';
import { createApiKey, revokeApiKey, rotateApiKey } from '../../src/control/api-keys.ts';
import { type Decide, type Decision } from '../../src/control/decision.ts';
import { beginDeletion } from '../../src/control/deletion.ts';
import { type Directory, readControlState } from '../../src/control/directory.ts';
import { beginErasure } from '../../src/control/erasure.ts';
import { Journal } from '../../src/control/journal.ts';
import { createWithAdministrator } from '../../src/control/new-organization.ts';
import { changeHere } from '../../src/control/operator-changes.ts';
import {
  createOrganization,
  findOrganization,
  type Organization,
  updateOrganization,
} from '../../src/control/organizations.ts';
import { noPassword } from '../../src/control/passwords.ts';
import { changeProvisioned, provisionUser } from '../../src/control/provisioning.ts';
import { placeHold } from '../../src/control/retention.ts';
import { SealedSecrets } from '../../src/control/sealed-secret.ts';
import { endSession } from '../../src/control/sessions.ts';
import { signOn } from '../../src/control/sign-on.ts';
import { updateSignOn } from '../../src/control/sign-on-settings.ts';
import {
  changeRole,
  createUser,
  disableUser,
  enableUser,
  findByEmail,
  setPassword,
  type User,
} from '../../src/control/users.ts';
import type { Storage } from '../../src/storage/storage.ts';
import {
  digestOfRow,
  emptyJournal,
  journalRows,
  openDirectory,
  operatorCall,
  sha256,
} from '../support/control.ts';
import { rounds } from '../support/rounds.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

let engine: SharedEngine;
let storage: Storage;
let here: Directory;

before(async () => {
  engine = await sharedEngine();
});
beforeEach(async () => {
  storage = await emptyJournal(engine);
  here = await openDirectory(storage);
});
afterEach(() => storage.close());

const change = <T>(decide: Decide<T>, by = here): Promise<T> => by.change(operatorCall, decide);
const person = (name: string, role = 'member') => ({
  email: `${name}@acme.example`,
  name,
  role,
  passwordHash: noPassword,
});
const addUser = (name: string, role?: string): Promise<User> =>
  change(createUser({ ...person(name, role), organization: 'acme' }));
const addOrganization = (slug = 'acme'): Promise<Organization> =>
  change(createOrganization({ slug, name: slug }));

/** The whole state of a directory as the journal gives it, without undefined members. */
function stateOf(state: Directory): unknown {
  const users = state.users();
  const organizations = state.organizations();
  const known = {
    organizations,
    users,
    identities: users.map((user) => state.identityOf(user)),
    keys: state.apiKeys(),
    policies: organizations.map(({ id }) => state.policyOf(id)),
    signOns: state.signOns(),
    deletions: state.deletions(),
    erasures: state.erasures(),
  };
  return JSON.parse(JSON.stringify(known));
}

/** Checks that places have no gap, and that each row names the previous one and has the written texts. */
async function heldTogether() {
  const rows = await journalRows(storage);
  let previous = '';
  for (const [at, row] of rows.entries()) {
    assert.deepEqual([row.place, row.previous], [String(at + 1), previous]);
    if (!row.erased)
      assert.deepEqual([sha256(row.parts), sha256(row.events)], [row.parts_sha256, row.events_sha256]);
    previous = digestOfRow(row);
  }
  return rows;
}

const kindsOf = ({ parts }: { readonly parts: string }) =>
  (JSON.parse(parts) as [string, object][]).map(([kind]) => kind);
const codesOf = ({ events }: { readonly events: string }) =>
  (JSON.parse(events) as string[]).map(
    (text) => (JSON.parse(text) as { message: { action: number } }).message.action,
  );

describe('several processes at once', () => {
  const secrets = new SealedSecrets('s'.repeat(32));
  const emails = ['ann', 'bob', 'cid'];
  /** Random changes of a few objects. */
  const kinds: readonly ((key: string, n: number) => Decide<unknown>)[] = [
    (_, n) => changeRole(userOf(n), ['admin', 'auditor', 'member'][n % 3] ?? ''),
    (_, n) => disableUser(userOf(n)),
    (_, n) => enableUser(userOf(n)),
    (_, n) => setPassword(userOf(n), `hash ${n}`),
    (key) => rotateApiKey({ id: key }),
    (key, n) =>
      n === 0 ? revokeApiKey({ id: key }) : createApiKey({ organization: 'acme', scopes: 'read' }),
    (_, n) => updateOrganization('acme', { name: `Acme ${n % 4}` }, undefined),
    (_, n) => createOrganization({ slug: `other-${n % 3}`, name: 'Other' }),
    (_, n) => createUser({ ...person(`new-${n % 3}`), organization: 'acme' }),
    (_, n) => updateSignOn('acme', { roleClaim: `claim-${n % 3}` }, secrets),
    (_, n) => (state, moment) =>
      placeHold(findOrganization(state, 'acme').id, `reason ${n % 2}`)(state, moment),
  ];
  const userOf = (n: number) => ({ user: `${emails[n % emails.length]}@acme.example`, organization: 'acme' });
  const drawn = fc.array(fc.tuple(fc.nat(2), fc.nat(kinds.length - 1), fc.nat(7)), {
    minLength: 12,
    maxLength: 30,
  });

  /** A requested change; `wrote` if it resolved and should have written. */
  async function ask(by: Directory, id: string, decide: Decide<unknown>): Promise<boolean> {
    let last: Decision<unknown> | undefined;
    const noted: Decide<unknown> = (state, moment) => {
      last = undefined;
      last = decide(state, moment);
      return last;
    };
    try {
      await by.change({ ...operatorCall, id }, noted);
    } catch (error) {
      assert.ok(error instanceof Problem && error.code !== 'unavailable', String(error));
      return false;
    }
    return last !== undefined && last.parts.length > 0;
  }

  test('each resolved change is stored once, in one order, and all processes have the same state', async () => {
    await fc.assert(
      fc.asyncProperty(drawn, async (changes) => {
        await storage.close();
        storage = await emptyJournal(engine);
        const processes = [
          await openDirectory(storage),
          await openDirectory(storage),
          await openDirectory(storage),
        ] as const;
        here = processes[0];
        await addOrganization();
        for (const name of emails) await addUser(name, 'admin');
        const { apiKey } = await change(createApiKey({ organization: 'acme', scopes: 'read' }));
        const before = here.place;
        const written = await Promise.all(
          changes.map(async ([at, kind, n]) => {
            const id = randomUUID();
            const decide = kinds[kind]?.(apiKey.id, n);
            assert.ok(decide);
            return (await ask(processes[at] ?? here, id, decide)) ? [id] : [];
          }),
        );
        const rows = (await heldTogether()).slice(before);
        assert.deepEqual(rows.map(({ id }) => id).toSorted(), written.flat().toSorted());
        for (const one of processes) await one.refresh();
        const fresh = await openDirectory(storage);
        for (const one of processes) assert.deepEqual(stateOf(one), stateOf(fresh));
        assert.deepEqual(
          [...processes, fresh].flatMap((one) => one.damage()),
          [],
        );
      }),
      { numRuns: rounds(2, 60), endOnFailure: true },
    );
  });

  test('a directory gets each row once and in order, with a mark for its own', async () => {
    const told: [number, boolean][] = [];
    const watching = await openDirectory(storage, {
      applied: ({ place }, isOwn) => told.push([place, isOwn]),
    });
    await addOrganization();
    await Promise.all([
      change(createUser({ ...person('ann'), organization: 'acme' })),
      change(createUser({ ...person('bob'), organization: 'acme' }), watching),
    ]);
    await addUser('cid');
    await Promise.all([watching.refresh(), watching.refresh()]);
    const rows = await heldTogether();
    const isBob = ({ parts }: { readonly parts: string }) => parts.includes('bob@');
    assert.deepEqual(
      told,
      rows.map((row) => [Number(row.place), isBob(row)]),
    );
  });
});

describe('a change of several parts is one row, with all its events', () => {
  /** The only row of a change. */
  async function rowOf(decide: Decide<unknown>) {
    const before = here.place;
    await change(decide);
    const [row, ...more] = (await heldTogether()).slice(before);
    assert.ok(row !== undefined && more.length === 0, 'one row');
    return { kinds: kindsOf(row), codes: codesOf(row) };
  }

  test('an organization with its first administrator and key', async () => {
    const key = { scopes: 'read,write' };
    assert.deepEqual(
      await rowOf(createWithAdministrator({ slug: 'acme', name: 'Acme' }, person('ann', 'admin'), key)),
      { kinds: ['organization', 'user', 'api_key'], codes: [5010, 1000, 1300] },
    );
  });

  test('whom a provider vouches for, made and linked, or linked with another role', async () => {
    const { id } = await addOrganization();
    await addUser('bob');
    const settings = { ...here.signOnOf(id), createUsers: true, roleClaim: 'role', adminValues: ['a'] };
    const rowBy = (name: string) =>
      rowOf(
        signOn(settings, {
          issuer: 'https://idp.example',
          subject: name,
          email: `${name}@acme.example`,
          emailVerified: true,
          name,
          claims: { role: 'a' },
        }),
      );
    assert.deepEqual(await rowBy('new'), { kinds: ['user', 'identity'], codes: [1000] });
    assert.deepEqual(await rowBy('bob'), { kinds: ['user', 'identity'], codes: [1008, 1020] });
    const before = here.place;
    await assert.rejects(rowBy('bob'));
    assert.equal(here.place, before, 'a sign-in that changes nothing writes nothing');
  });

  test('a provisioned user whose access ends', async () => {
    const { id } = await addOrganization();
    const directory = { externalId: 'e-1', active: false };
    assert.deepEqual(await rowOf(provisionUser(id, person('ann'), directory)), {
      kinds: ['user', 'identity'],
      codes: [1000, 1006],
    });
    const ann = findByEmail(here, id, 'ann@acme.example');
    assert.ok(ann?.disabledMicros !== undefined && here.identityOf(ann).externalId === 'e-1');
    const more = { active: true, role: 'auditor', externalId: 'e-2', name: 'Ann' } as const;
    assert.deepEqual(await rowOf(changeProvisioned(id, ann.id, more)), {
      kinds: ['user', 'identity'],
      codes: [1004, 1020, 1007],
    });
  });

  test('an organization that ends', async () => {
    const { id, slug, name } = await addOrganization();
    await addUser('ann', 'admin');
    const facts = { id, slug, name, operator: 'root', events: 0, users: 1, apiKeys: 0, checkpoint: '' };
    assert.deepEqual(await rowOf(beginDeletion(facts, 0)), {
      kinds: ['deletion', 'organization'],
      codes: [],
    });
    assert.deepEqual([here.organizations(), here.users()], [[], []]);
  });
});

test('a change takes two statements, and what nothing comes of is decided by what others have done, too', async () => {
  const asked: string[] = [];
  const noted =
    <T extends readonly unknown[], R>(name: string, ask: (...given: T) => R) =>
    (...given: T): R => {
      asked.push(name);
      return ask(...given);
    };
  const state = await openDirectory({
    ...storage,
    rows: noted('rows', storage.rows) as Storage['rows'],
    readRows: noted('readRows', storage.readRows) as Storage['readRows'],
    insertRows: noted('insertRows', storage.insertRows),
    checked: noted('checked', storage.checked),
  });
  asked.length = 0;
  await change(createOrganization({ slug: 'acme', name: 'Acme' }), state);
  assert.deepEqual(asked, ['insertRows', 'checked', 'readRows']);
  const behind = await openDirectory(storage);
  await addOrganization('other');
  const { id } = await change(createUser({ ...person('ann'), organization: 'other' }), behind);
  await change(disableUser({ user: id }), state);
  const again = await change(disableUser({ user: id }), behind);
  assert.equal(again.before, again.now, 'it was disabled by another meanwhile');
  await heldTogether();
});

test('a change whose audit event could never be stored is refused, and not made', async () => {
  const { id } = await addOrganization();
  const record = (msg: string) =>
    changeHere(here, operatorCall, 'recordEvents', [
      [{ time: '2026-01-01T00:00:00Z', msg, message: { action: 1, org: id } }],
    ]);
  await assert.rejects(
    record('x'.repeat(1024 * 1024)),
    (error) => error instanceof Problem && error.code === 'malformed' && /audit event/.test(error.message),
  );
  await record('a\0b\uD800');
  const rows = await heldTogether();
  assert.equal(rows.length, 2);
  assert.match(rows[1]?.events ?? '', /a\uFFFDb\uFFFD/);
});

test('a repeat that changes nothing writes no row', async () => {
  const secrets = new SealedSecrets('s'.repeat(32));
  const { id } = await addOrganization();
  const ann = await addUser('ann', 'admin');
  const bob = await addUser('bob');
  const { apiKey } = await change(createApiKey({ organization: 'acme', scopes: 'read' }));
  const session = { id: randomUUID(), user: ann, expiresMicros: Date.now() * 1000 + 60_000_000 };
  const repeats: readonly (() => Decide<unknown>)[] = [
    () => changeRole({ user: bob.id }, 'auditor'),
    () => disableUser({ user: bob.id }),
    () => changeProvisioned(id, ann.id, { active: true, role: 'admin', name: 'Ann', externalId: 'a' }),
    () => endSession(session),
    () => revokeApiKey({ id: apiKey.id }),
    () => placeHold(id, 'Doe v. Acme'),
    () => updateOrganization('acme', { name: 'Acme', receipts: 'off' }, undefined),
    () => updateSignOn('acme', { issuer: 'https://idp.example', clientId: 'c', clientSecret: 's' }, secrets),
    () => enableUser({ user: bob.id }),
  ];
  for (const repeat of repeats) {
    const before = here.place;
    await change(repeat());
    assert.equal(here.place, before + 1, String(repeat));
    await change(repeat());
    assert.equal(here.place, before + 1, String(repeat));
  }
  assert.equal((await heldTogether()).length, here.place);
});

describe('an answer of the engine that is lost', () => {
  const lost = () => new EngineError('timeout', 'no answer within the time');
  type Insert = Storage['insertRows'];

  /** A directory whose next INSERTs behave as given; later ones succeed. */
  async function withInserts(...ways: readonly ((insert: Insert) => Insert)[]): Promise<Directory> {
    const left = [...ways];
    const insertRows: Insert = (...inserted) =>
      (left.shift() ?? ((insert: Insert) => insert))(storage.insertRows)(...inserted);
    return openDirectory({ ...storage, insertRows });
  }

  const stored =
    (insert: Insert): Insert =>
    async (...inserted) => {
      await insert(...inserted);
      throw lost();
    };
  const notStored = (): Insert => () => Promise.reject(lost());
  const refused = (): Insert => () => Promise.reject(new EngineError('refused', 'no room', 243));

  test('to an INSERT that was made: the change resolves, and is stored once', async () => {
    const state = await withInserts(stored);
    const { id } = await change(createOrganization({ slug: 'acme', name: 'Acme' }), state);
    assert.equal(state.organizationBySlug('acme')?.id, id);
    assert.equal((await heldTogether()).length, 1);
  });

  test('to an INSERT that never came: it is repeated, and there once', async () => {
    const state = await withInserts(notStored, notStored, stored);
    await change(createOrganization({ slug: 'acme', name: 'Acme' }), state);
    await here.refresh();
    assert.equal(here.organizations().length, 1);
    assert.equal((await heldTogether()).length, 1);
  });

  test('while another takes the place: the change is decided anew', async () => {
    const taken = (): Insert => async () => {
      await addOrganization('acme');
      throw lost();
    };
    const state = await withInserts(taken);
    await change(createOrganization({ slug: 'other', name: 'Other' }), state);
    const [first, second] = await heldTogether();
    assert.ok(first?.parts.includes('acme') && second?.parts.includes('other'));
    const conflicting = await withInserts(() => async () => {
      await addOrganization('third');
      throw lost();
    });
    await assert.rejects(
      change(createOrganization({ slug: 'third', name: 'Third' }), conflicting),
      (error) => error instanceof Problem && error.code === 'conflict',
    );
    assert.equal((await heldTogether()).length, 3);
  });

  test('an INSERT that is refused changes nothing', async () => {
    const state = await withInserts(refused);
    await assert.rejects(change(createOrganization({ slug: 'acme', name: 'Acme' }), state), EngineError);
    assert.deepEqual([state.organizations(), state.place, await heldTogether()], [[], 0, []]);
    await change(createOrganization({ slug: 'acme', name: 'Acme' }), state);
    assert.equal((await heldTogether()).length, 1);
  });

  test('an INSERT that comes late is not denied, though a repeat of it was refused', async () => {
    let late: () => Promise<void> = () => Promise.resolve();
    const waits =
      (insert: Insert): Insert =>
      (...inserted) => {
        late = () => insert(...inserted);
        return Promise.reject(lost());
      };
    const comes = (): Insert => async () => {
      await late();
      throw lost();
    };
    const state = await withInserts(waits, refused, comes);
    await change(createOrganization({ slug: 'acme', name: 'Acme' }), state);
    assert.equal((await heldTogether()).length, 1);
  });

  test('a row in memory that a full disk lost does not count', async () => {
    let looks = 0;
    const checked: Storage['checked'] = async (work) => {
      looks += 1;
      if (looks > 1) return storage.checked(work);
      await work();
      // The engine is killed, and the next one finds a truncated part.
      await storage.command('ALTER TABLE journal DELETE WHERE true', {}, { settings: { mutations_sync: 2 } });
      throw new EngineError('unreachable', 'The engine ended during the statement');
    };
    let isFull = true;
    const insertRows: Insert = async (...inserted) => {
      await storage.insertRows(...inserted);
      if (isFull) {
        isFull = false;
        throw new EngineError('refused', 'A write of the engine failed');
      }
    };
    const state = await openDirectory({ ...storage, checked, insertRows });
    await change(createOrganization({ slug: 'acme', name: 'Acme' }), state);
    assert.deepEqual([(await heldTogether()).length, looks], [1, 3]);
    const elsewhere = await openDirectory(storage);
    assert.deepEqual([elsewhere.organizations().length, elsewhere.damage()], [1, []]);
  });

  test('a row of an INSERT that was answered, and that is on no disk, does not count', async () => {
    let looks = 0;
    const checked: Storage['checked'] = async (work) => {
      looks += 1;
      if (looks > 1) return storage.checked(work);
      await storage.command('ALTER TABLE journal DELETE WHERE true', {}, { settings: { mutations_sync: 2 } });
      throw new EngineError('refused', 'A write of the engine failed');
    };
    const state = await openDirectory({ ...storage, checked });
    await change(createOrganization({ slug: 'acme', name: 'Acme' }), state);
    // The engine takes the second INSERT for a repeat of the lost one.
    assert.deepEqual([(await heldTogether()).length, looks], [1, 3]);
  });

  test('for too long: the answer says that it is unknown, and a repeat gets the result', async (t) => {
    let isDown = false;
    const readRows: Storage['readRows'] = (...query) =>
      isDown ? Promise.reject(lost()) : storage.readRows(...query);
    const insertRows: Insert = async (...inserted) => {
      await storage.insertRows(...inserted);
      isDown = true;
      passedMs += 60_000;
      throw lost();
    };
    const state = await openDirectory({ ...storage, readRows, insertRows });
    let passedMs = 0;
    const now = performance.now.bind(performance);
    t.mock.method(performance, 'now', () => now() + passedMs);
    const create = () => change(createOrganization({ slug: 'acme', name: 'Acme' }), state);
    await assert.rejects(
      create(),
      (error) =>
        error instanceof Problem && error.code === 'unavailable' && /cannot be told/.test(error.message),
    );
    isDown = false;
    await assert.rejects(create(), /taken/);
    assert.equal((await heldTogether()).length, 1);
  });

  test('for too long: a repeat of the same call gets the answer, here and elsewhere', async (t) => {
    let isDown = false;
    const readRows: Storage['readRows'] = (...query) =>
      isDown ? Promise.reject(lost()) : storage.readRows(...query);
    const insertRows: Insert = async (...inserted) => {
      await storage.insertRows(...inserted);
      isDown = true;
      passedMs += 60_000;
      throw lost();
    };
    let passedMs = 0;
    const now = performance.now.bind(performance);
    t.mock.method(performance, 'now', () => now() + passedMs);
    const call = { ...operatorCall, id: randomUUID(), request: 'one' };
    const create = (by: Directory, more = {}) =>
      by.change({ ...call, ...more }, createOrganization({ slug: 'acme', name: 'Acme' }));
    const state = await openDirectory({ ...storage, readRows, insertRows });
    await assert.rejects(create(state), /cannot be told/);
    isDown = false;
    const { id } = await create(state);
    const elsewhere = await openDirectory(storage);
    assert.equal((await create(elsewhere)).id, id);
    assert.equal((await heldTogether()).length, 1);
    await assert.rejects(create(elsewhere, { request: 'another' }), /was used for another change/);
    await assert.rejects(create(elsewhere, { id: randomUUID() }), /taken/);
  });
});

describe('the engine of this process alone', () => {
  test('is asked once for a change, but for the first one and after a doubt', async () => {
    let asked: string[] = [];
    let insert: Storage['insertRows'] = storage.insertRows;
    const own = {
      ...storage,
      isOwn: true,
      insertRows: ((...rows) => (asked.push('insert'), insert(...rows))) as Storage['insertRows'],
      readRows: ((...query) => (asked.push('read'), storage.readRows(...query))) as Storage['readRows'],
    };
    const state = await openDirectory(own);
    const asksOf = async (slug: string): Promise<string[]> => {
      asked = [];
      await change(createOrganization({ slug, name: slug }), state);
      return asked;
    };
    assert.deepEqual(await asksOf('one'), ['insert', 'read']);
    assert.deepEqual(await asksOf('two'), ['insert']);
    insert = async () => {
      insert = storage.insertRows;
      await addOrganization('other');
      throw new EngineError('unreachable', 'no answer');
    };
    assert.deepEqual((await asksOf('three')).slice(0, 2), ['insert', 'read']);
    assert.deepEqual(await asksOf('four'), ['insert']);
    const elsewhere = await openDirectory(storage);
    assert.deepEqual(
      elsewhere.organizations().map(({ slug }) => slug),
      ['four', 'one', 'other', 'three', 'two'],
    );
    assert.deepEqual(elsewhere.damage(), []);
  });
});

test('rows that disappear before they are read fail the read, and are read later', async () => {
  await addOrganization();
  let isGone = true;
  const flow: Storage['flow'] = (...asked) =>
    isGone ? Promise.resolve(fromReadable(Readable.from([]))) : storage.flow(...asked);
  const gone = { ...storage, flow };
  const isUnreachable = (error: unknown) => error instanceof EngineError && error.failure === 'unreachable';
  await assert.rejects(openDirectory(gone), isUnreachable);
  await assert.rejects(readControlState(gone), isUnreachable);
  isGone = false;
  assert.equal((await openDirectory(gone)).place, 1);
});

test('a read that breaks off in the middle fails, and the next one goes on from there', async () => {
  let isCut = false;
  const flow: Storage['flow'] = async (...asked) => {
    const whole = await storage.flow(...asked);
    if (!isCut) return whole;
    const lines: string[] = [];
    for await (const some of linesOf(whole)) lines.push(...some);
    const cut = async function* () {
      yield Buffer.from(`${lines[0]}\n${lines[1]?.slice(0, 20)}`);
      await sleep(100);
      throw new EngineError('unreachable', 'cut');
    };
    return fromReadable(Readable.from(cut()));
  };
  const other = await openDirectory({ ...storage, flow });
  await addOrganization('first');
  await addOrganization('second');
  await addOrganization('third');
  isCut = true;
  await assert.rejects(other.refresh(), EngineError);
  assert.deepEqual(
    other.organizations().map(({ slug }) => slug),
    ['first'],
  );
  isCut = false;
  await other.refresh();
  assert.equal(other.place, 3);
  assert.equal(other.organizations().length, 3);
  assert.deepEqual(other.damage(), []);
});

describe('a journal that is damaged', () => {
  async function acceptDamage(state: Directory): Promise<number> {
    const damage = state.damage();
    await changeHere(state, operatorCall, 'acceptDamage', [damage, 'root']);
    return damage.length;
  }
  /** Six rows: 1 acme, 2 other, 3 ann, 4 a key, 5 its revocation, 6 bob. */
  async function sixRows(): Promise<Organization> {
    const acme = await addOrganization();
    await addOrganization('other');
    await addUser('ann', 'admin');
    const { apiKey } = await change(createApiKey({ organization: 'acme', scopes: 'read' }));
    await change(revokeApiKey({ id: apiKey.id }));
    await addUser('bob');
    return acme;
  }
  const harm = (what: string) =>
    storage.command(`ALTER TABLE journal ${what}`, {}, { settings: { mutations_sync: 2 } });
  const damageNow = async () => (await openDirectory(storage)).damage();
  const placesOf = (state: Directory) => state.damage().map(({ place }) => place);
  /** A server's mark beside the engine. */
  async function markNow() {
    const last = (await journalRows(storage)).at(-1);
    assert.ok(last);
    return { place: Number(last.place), digest: digestOfRow(last) };
  }
  const altered = 'is not as it was written';

  test('is none where nothing was harmed', async () => {
    await sixRows();
    assert.deepEqual(await damageNow(), []);
  });

  test('rows that are missing are named', async () => {
    await sixRows();
    await harm('DELETE WHERE place IN (1, 4, 5)');
    const missing = { detail: 'is missing', organization: undefined };
    assert.deepEqual(
      await damageNow(),
      [1, 4, 5].map((place) => ({ place, ...missing })),
    );
  });

  test('processes that read the last rows notice their loss', async () => {
    await sixRows();
    const mark = await markNow();
    await harm('DELETE WHERE place > 4');
    const state = await openDirectory(storage, { mark });
    assert.deepEqual(placesOf(state), [5, 6]);
    await change(createOrganization({ slug: 'new', name: 'New' }), state);
    assert.deepEqual([(await journalRows(storage)).at(-1)?.place, placesOf(state)], ['7', [5, 6]]);
  });

  for (const column of ['parts', 'events'])
    test(`a row whose ${column} were altered is named, with its organization, and counts for nothing`, async () => {
      const { id } = await sixRows();
      await harm(`UPDATE ${column} = replaceAll(${column}, 'ann@', 'eve@') WHERE place = 3`);
      const state = await openDirectory(storage);
      assert.deepEqual(state.damage(), [{ place: 3, detail: altered, organization: id }]);
      assert.deepEqual(
        state.users().map(({ name }) => name),
        ['bob'],
      );
    });

  test('a row that was altered together with its sums is found by the next one', async () => {
    await sixRows();
    await harm(
      `UPDATE parts = replaceAll(parts, 'ann@', 'eve@'),
         parts_sha256 = lower(hex(SHA256(replaceAll(parts, 'ann@', 'eve@')))) WHERE place = 3`,
    );
    assert.deepEqual(await damageNow(), [{ place: 3, detail: altered, organization: undefined }]);
  });

  test('any other column that was altered is found', async () => {
    await sixRows();
    for (const [column, value] of [
      ['id', randomUUID()],
      ['org', randomUUID()],
      ['server', randomUUID()],
      ['events_sha256', 'x'],
      ['previous', 'x'],
    ] as const) {
      const [kept] = (await journalRows(storage)).filter(({ place }) => place === '3');
      await harm(`UPDATE ${column} = '${value}' WHERE place = 3`);
      const places = (await damageNow()).map(({ place }) => place);
      assert.ok(places.includes(3), `${column}: ${places.join(', ')}`);
      await harm(`UPDATE ${column} = '${String(kept?.[column])}' WHERE place = 3`);
      assert.deepEqual(await damageNow(), []);
    }
  });

  test('a second row at a place is found at any position', async () => {
    await sixRows();
    for (const place of ['5', '6']) {
      const [row] = (await journalRows(storage)).filter((one) => one.place === place);
      await storage.insertRows('journal', [{ ...row, id: randomUUID() }]);
    }
    assert.deepEqual([...new Set(placesOf(await openDirectory(storage)))], [5, 6]);
  });

  test('a row marked as erased with its texts is found', async () => {
    const { id } = await sixRows();
    await harm(`UPDATE parts = '', erased = true WHERE place = 5`);
    const [found, ...more] = await damageNow();
    assert.deepEqual([found?.place, found?.organization, more], [5, id, []]);
  });

  test('damaged organizations are refused until an operator accepts it, with one message', async () => {
    const acme = await sixRows();
    await harm(`UPDATE parts = 'x' WHERE place = 3`);
    const told: number[] = [];
    const deps = { damaged: ({ place }: { readonly place: number }) => told.push(place) };
    const state = await openDirectory(storage, deps);
    await state.refresh();
    assert.deepEqual(
      [state.organizationById(acme.id), state.organizationBySlug('other')?.slug, told],
      [undefined, 'other', [3]],
    );
    await assert.rejects(change(createUser({ ...person('cid'), organization: 'acme' }), state));
    assert.equal(await acceptDamage(state), 1);
    const accepted = (await journalRows(storage)).at(-1);
    assert.deepEqual(accepted && [kindsOf(accepted), codesOf(accepted), accepted.org], [
      ['accepted_damage'],
      [4041],
      acme.id,
    ]);
    assert.equal(state.organizationById(acme.id)?.slug, 'acme');
    await change(createUser({ ...person('cid'), organization: 'acme' }), state);
    const later = await openDirectory(storage, deps);
    assert.deepEqual([later.damage(), later.organizations().length, told], [[], 2, [3]]);
  });

  test('each organization concerned gets an event of accepted damage', async () => {
    const acme = await sixRows();
    await harm(`UPDATE parts = 'x' WHERE place = 3`);
    await harm('DELETE WHERE place = 5');
    const state = await openDirectory(storage);
    await acceptDamage(state);
    const row = (await journalRows(storage)).at(-1);
    assert.ok(row);
    const told = (JSON.parse(row.events) as string[]).map((text) => {
      const { message } = JSON.parse(text) as {
        message: { org: string; extra: { damage: { rows: { place: number }[] } } };
      };
      return [message.org === acme.id, message.extra.damage.rows.map(({ place }) => place)];
    });
    assert.deepEqual(told, [
      [true, [3, 5]],
      [false, [5]],
    ]);
    assert.equal(await acceptDamage(state), 0);
    assert.equal((await journalRows(storage)).at(-1)?.place, row.place, 'once');
  });

  test('a last row that the engine lost unread is no gap', async () => {
    await sixRows();
    await harm('DELETE WHERE place = 6');
    const [state, other] = [await openDirectory(storage), await openDirectory(storage)];
    await Promise.all([
      change(createUser({ ...person('cid'), organization: 'acme' }), state),
      change(createUser({ ...person('dan'), organization: 'acme' }), other),
    ]);
    assert.equal((await heldTogether()).length, 7);
    assert.deepEqual(await damageNow(), []);
  });

  test('another row in the place of the last read one is found', async () => {
    await sixRows();
    const mark = await markNow();
    await harm('DELETE WHERE place = 6');
    await change(createOrganization({ slug: 'new', name: 'New' }), await openDirectory(storage));
    assert.deepEqual(placesOf(await openDirectory(storage, { mark })), [6]);
  });
});

describe('an erasure', () => {
  const planned = (organizationId: string, account: string) => ({
    id: randomUUID(),
    organizationId,
    pseudonym: 'erased-7',
    operator: 'root',
    events: 0,
    digest: '',
    account,
  });

  test('leaves no text of the person, a whole chain, and the state that there was', async () => {
    await change(
      createWithAdministrator({ slug: 'acme', name: 'Acme' }, person('ann', 'admin'), { scopes: 'read' }),
    );
    const { id } = findOrganization(here, 'acme');
    const ann = findByEmail(here, id, 'ann@acme.example');
    assert.ok(ann);
    const [key] = here.apiKeys(id);
    await addUser('bob', 'admin');
    const byAnn = { id: ann.id, name: ann.name, email: ann.email, type: 'User' } as const;
    await here.change({ actor: byAnn }, createUser({ ...person('cid'), organization: 'acme' }));
    const called = { ...operatorCall, id: randomUUID() };
    await here.change(called, setPassword({ user: ann.id }, noPassword));
    await change(changeProvisioned(id, ann.id, { externalId: 'ann', role: 'auditor' }));
    await change(revokeApiKey({ id: key?.id ?? '' }));
    const journal = new Journal(storage);
    const erasure = await change(beginErasure(planned(id, ann.id), await journal.besides(id, ann.id)));
    const before = stateOf(here);
    // Continues after a kill.
    for (let turn = 0; turn < 2; turn += 1) await journal.erase(id, ann.id, erasure.place);

    const rows = await heldTogether();
    assert.ok(!/ann@|"ann"/.test(JSON.stringify(rows.map(({ parts, events }) => parts + events))));
    assert.deepEqual(
      rows.filter(({ erased }) => erased).map(({ place }) => place),
      ['1', '3', '4', '5'],
    );
    assert.equal(here.call(called.id), undefined);
    const fresh = await openDirectory(storage);
    assert.deepEqual(fresh.damage(), []);
    assert.deepEqual(stateOf(fresh), before);
    assert.deepEqual(
      [fresh.apiKeys(id)[0]?.revokedMicros !== undefined, fresh.userById(ann.id)?.name],
      [true, 'erased-7'],
    );
    await change(createUser({ ...person('ann'), organization: 'acme' }), fresh);
    assert.equal((await heldTogether()).length, rows.length + 1);
  });

  test('leaves of an organization that was deleted its deletion alone', async () => {
    const other = await addOrganization('other');
    await change(
      createWithAdministrator({ slug: 'acme', name: 'Acme' }, person('ann', 'admin'), { scopes: 'read' }),
    );
    const { id, slug, name } = findOrganization(here, 'acme');
    const facts = { id, slug, name, operator: 'root', events: 0, users: 1, apiKeys: 1, checkpoint: '' };
    await change(beginDeletion(facts, 0));
    const before = stateOf(here);
    for (let turn = 0; turn < 2; turn += 1) await new Journal(storage).eraseDeleted(id);
    const rows = await heldTogether();
    assert.ok(!JSON.stringify(rows).includes('ann@'));
    const fresh = await openDirectory(storage);
    assert.deepEqual([fresh.damage(), stateOf(fresh)], [[], before]);
    assert.deepEqual(
      fresh.organizations().map((one) => one.id),
      [other.id],
    );
    await change(createOrganization({ slug, name }), fresh);
    assert.equal(fresh.organizationBySlug(slug) === undefined, false);
  });
});
