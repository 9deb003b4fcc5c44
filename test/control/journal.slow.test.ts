import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { keyMaker } from '../../src/control/api-keys.ts';
import { eventOfChange, eventText } from '../../src/control/change-events.ts';
import type { Decision } from '../../src/control/decision.ts';
import type { JournalHead } from '../../src/control/journal.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import { noPassword } from '../../src/control/passwords.ts';
import { keepsAll } from '../../src/control/retention.ts';
import { newUser } from '../../src/control/users.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { digestOfRow, emptyJournal, openDirectory, operatorCall, sha256 } from '../support/control.ts';
import { patience } from '../support/patience.ts';
import { sharedEngine } from '../support/shared.ts';

const organizations = 10_000;
const usersOfEach = 10;
const keysOfEach = 10;
const startMsMax = 10_000;
const rowsAtOnce = 10_000;
const micros = 1_790_000_000_000_000;
const nilUuid = '00000000-0000-0000-0000-000000000000';

/** Writes rows as changes do, many in one INSERT. */
class Filling {
  readonly #storage: Storage;
  #place = 0;
  #previous = '';
  #rows: object[] = [];

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** A server's mark for a journal whose events are all recorded. */
  get mark(): JournalHead {
    return { place: this.#place, digest: this.#previous };
  }

  async add(org: string, { parts, changes }: Decision<unknown>): Promise<void> {
    this.#place += 1;
    const texts = {
      parts: JSON.stringify(parts),
      events: JSON.stringify(
        changes.map((change) => eventText(eventOfChange(change, operatorCall.actor), micros)),
      ),
    };
    const sums = { parts_sha256: sha256(texts.parts), events_sha256: sha256(texts.events) };
    const ids = { place: String(this.#place), id: randomUUID(), org, server: nilUuid };
    const row = { ...ids, ...sums, previous: this.#previous };
    this.#previous = digestOfRow(row);
    this.#rows.push({ ...row, ...texts });
    if (this.#rows.length === rowsAtOnce) await this.end();
  }

  async end(): Promise<void> {
    const rows = this.#rows;
    this.#rows = [];
    await this.#storage.insertRows('journal', rows, { timeoutMs: patience(60_000) });
  }
}

test('a start with 10,000 organizations, 100,000 users and 100,000 keys takes seconds', async (t) => {
  const storage = await emptyJournal(await sharedEngine());
  const filling = new Filling(storage);
  const nobody = await openDirectory(storage);
  for (let n = 0; n < organizations; n += 1) {
    const slug = `organization-${n}`;
    const made = createOrganization({ slug, name: `Organization ${n}` })(nobody, { micros, place: 1 });
    const { id } = made.result;
    await filling.add(id, made);
    for (let user = 0; user < usersOfEach; user += 1) {
      const email = `user-${user}@${slug}.example`;
      const input = { email, name: `User ${user}`, role: 'admin', passwordHash: noPassword };
      await filling.add(id, newUser(input)(id, micros));
    }
    for (let key = 0; key < keysOfEach; key += 1)
      await filling.add(id, keyMaker({ name: `Key ${key}`, scopes: 'write' })(id, micros));
  }
  await filling.end();

  const { mark } = filling;
  const [began, used] = [performance.now(), process.cpuUsage()];
  const state = await openDirectory(storage, { mark });
  const startMs = performance.now() - began;
  const { user, system } = process.cpuUsage(used);
  const cpuMs = Math.round((user + system) / 1_000);
  t.diagnostic(
    `${mark.place} rows are read and folded in ${Math.round(startMs)} ms, ${cpuMs} ms of a processor`,
  );
  assert.deepEqual(
    [state.place, state.organizations().length, state.users().length, state.apiKeys().length],
    [mark.place, organizations, organizations * usersOfEach, organizations * keysOfEach],
  );
  assert.deepEqual(state.damage(), []);
  assert.ok(startMs < patience(startMsMax) / 2, `${startMs} ms`);

  const changes = 20;
  const changing = performance.now();
  for (let n = 0; n < changes; n += 1)
    await state.change(operatorCall, createOrganization({ slug: `new-${n}`, name: 'New' }));
  const changeMs = (performance.now() - changing) / changes;
  t.diagnostic(`a change beside them takes ${Math.round(changeMs)} ms`);
  await storage.close();
});

test('rows that are larger together than an answer may be are all read', async () => {
  const storage = await emptyJournal(await sharedEngine());
  const writing = await openDirectory(storage);
  const policy = { ...keepsAll(randomUUID()), holdReason: '"'.repeat(1024 * 1024) };
  const rows = 50;
  for (let version = 1; version <= rows; version += 1) {
    const part = ['policy', { ...policy, version }] as const;
    await writing.change(operatorCall, () => ({ parts: [part], changes: [], result: undefined }));
  }
  const state = await openDirectory(storage);
  assert.deepEqual([state.place, state.policyOf(policy.id)?.version], [rows, rows]);
  await storage.close();
});
