import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { beginDeletion, carryOutDeletion, previewDeletion } from '../../src/control/deletion.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import { awaitHold, placeHold, policyOf } from '../../src/control/retention.ts';
import { openStorage } from '../../src/storage/client.ts';
import { EventRemoval } from '../../src/storage/removal.ts';
import { Lease } from '../../src/storage/lease.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { openDirectory, operatorCall } from '../support/control.ts';
import { silentLog } from '../support/engine.ts';
import { startTwoShards, type TwoShards } from '../support/two-shards.ts';

/**
 * A replica that has not yet got what another has. Nothing is replicated here (see `two-shards.ts`), so tables of the two
 * nodes that would be replicas of each other differ for good, and whoever looks at one of them alone is always wrong.
 */
let two: TwoShards;
const open: Storage[] = [];
before(async () => {
  two = await startTwoShards();
});
after(async () => {
  await Promise.all(open.map((storage) => storage.close()));
  await two?.stop();
});

function storageAt(url: string, database: string): Storage {
  const { owner: user, password } = two.a;
  const storage = openStorage(
    { url, user, password, database, headers: {}, cluster: two.cluster },
    silentLog,
  );
  open.push(storage);
  return storage;
}

// `replicas-changes.long.ts` has erasure, retention and deletion on replicas. An engine may end
// when another one was killed (test/support/plain-engine.ts).
describe('a node that has no row yet of those that most have', () => {
  let onA: Storage;
  let onB: Storage;
  before(async () => {
    await two.prepare('lag', { head: '', tail: '' });
    onA = two.storageOf('a', 'lag');
    // The node that has them is half of the two. As most do in a cluster, both have to answer.
    onB = storageAt(two.doorOfB.url, 'lag');
    const b = two.storageOf('b', 'lag');
    for (const table of ['journal', 'removals', 'erased_events']) {
      const [made] = await onA.rows<{ statement: string }>(`SHOW CREATE TABLE ${table}`);
      await b.command(`DROP TABLE ${table} SYNC`);
      await b.command(made?.statement ?? '');
    }
  });

  test('knows a legal hold, a removal that has begun, and rows of an organization that is deleted', async () => {
    const [directoryOnA, directoryOnB] = [await openDirectory(onA), await openDirectory(onB)];
    const { id: org } = await directoryOnA.change(
      operatorCall,
      createOrganization({ slug: 'lagging', name: 'Lagging' }),
    );
    await directoryOnA.change(operatorCall, placeHold(org, 'a case'));
    await directoryOnB.refresh();
    assert.equal(policyOf(directoryOnB, org).holdReason, 'a case');

    const plan = { org, partition: '202401', rows: 3, before: 5, below: '7' };
    await onA.insertRows('removals', [{ ...plan, id: org, done: false }]);
    const counts = [{ partition: '202401', rows: 3 }];
    const expected = { id: org, organization: org, beforeMicros: 5, below: 7n, counts };
    assert.deepEqual(await new EventRemoval(onB).unfinished(), [expected]);
    // That it has ended is known of any node, whatever another one still has.
    await two.storageOf('b', 'lag').insertRows('removals', [{ ...plan, id: org, done: false }]);
    await onA.insertRows('removals', [{ ...plan, id: org, done: true }]);
    assert.deepEqual(await new EventRemoval(onB).unfinished(), []);

    const gone = { slug: 'gone', name: 'Gone' };
    const { id } = await directoryOnA.change(operatorCall, createOrganization(gone));
    await onA.insertRows('erased_events', [{ org: id, erasure: randomUUID(), seq: '1' }]);
    await directoryOnB.refresh();
    const store = { storage: onB, directory: directoryOnB };
    const preview = await previewDeletion(store, 'gone', 'op');
    const deletion = await directoryOnB.change(operatorCall, beginDeletion(preview, 0));
    await carryOutDeletion(store, new EventRemoval(onB), deletion);
    assert.deepEqual(await onA.rows('SELECT seq FROM erased_events WHERE org = {id:UUID}', { id }), []);
  });

  test('is waited for where it does not answer; only that a hold is kept need not be known', async () => {
    const storage = storageAt(new URL(two.a.url).origin, 'lag');
    const removal = new EventRemoval(storage);
    const org = randomUUID();
    assert.equal(await awaitHold(removal, org), true);
    const lease = new Lease({ storage, name: 'trees', owner: randomUUID() });
    assert.equal(await lease.take(), true);
    await two.b.kill();
    try {
      await assert.rejects(removal.unfinished());
      await assert.rejects(openDirectory(storage), /Only 1 of 2 cluster nodes answer/);
      await assert.rejects(lease.holds(), /Only 1 of 2 cluster nodes answer/);
      assert.equal(await awaitHold(removal, org), false);
    } finally {
      lease.abandon();
      await two.b.start();
    }
  });
});
