import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createSegmentInsert } from '../../src/storage/insert.ts';
import { row, SentSegments } from '../ingest/segment-body.ts';
import { silentLog } from '../support/engine.ts';
import { eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { again } from '../support/replicas/again.ts';
import { rebuild } from '../support/replicas/operator.ts';
import { type Replicas, startReplicas, whyNoReplicas } from '../support/replicas/replicas.ts';

/** Two shards with two real replicas each and a ZooKeeper (test/support/replicas); 25 seconds on two quiet cores. */
const skip = (await whyNoReplicas()) ?? false;

describe('two shards with two replicas each', { skip, timeout: patience(600_000) }, () => {
  let replicas: Replicas;
  before(async () => {
    replicas = await startReplicas(2, 2);
  });
  after(() => replicas?.stop());

  const segments = new SentSegments();
  /** Rows of an organization of one shard. */
  const blocksOf = async (shard: number) => {
    const [found] = await replicas.at(1, 1).rows<{ org: string }>(
      `SELECT org FROM (SELECT generateUUIDv4(number) AS org FROM numbers(100))
       WHERE cityHash64(org) % 2 = ${shard - 1} LIMIT 1`,
    );
    const org = found?.org ?? assert.fail('there are organizations of each shard');
    return [fc.sample(row, 20).map((one) => ({ ...one, org }))];
  };
  const rowsOn = async (shard: number, replica: number): Promise<number> => {
    const query =
      'SELECT count() AS rows FROM events_local WHERE seq BETWEEN {first:UInt64} AND {last:UInt64}';
    const [found] = await replicas.at(shard, replica).rows<{ rows: string }>(query, segments.range);
    return Number(found?.rows);
  };

  /** As the service does it: after any failure the segment is in doubt, and is sent again. Resolves with the failures. */
  const stored = async (
    shard: number,
    isDoubtful: boolean,
    through = replicas.at(1, 1),
  ): Promise<string[]> => {
    const insert = createSegmentInsert(through, silentLog, randomUUID());
    const blocks = await blocksOf(shard);
    segments.begin();
    let doubtful = isDoubtful;
    const failures: string[] = [];
    await again('the segment to be stored', async () => {
      const segment = segments.insertOf(blocks, doubtful);
      doubtful = true;
      const outcome = await insert(segment).catch((error: unknown) => {
        failures.push(String(error));
        throw error;
      });
      assert.equal(outcome, 'stored');
    });
    return failures;
  };

  test('a connection that breaks ends no node', async () => {
    const asked = async () => {
      const query = 'SELECT uptime() AS uptime, tcpPort() AS port';
      const [row] = await again('the node to answer', () =>
        replicas.at(1, 1).rows<{ uptime: number; port: number }>(query),
      );
      return row ?? assert.fail('a node has an uptime');
    };
    const { uptime, port } = await asked();
    for (let n = 0; n < 10; n++) {
      const socket = connect(port, '127.0.0.1', () => socket.write('no packet of the protocol'));
      socket.resume().on('error', () => socket.destroy());
      await new Promise((resolve) => socket.once('close', resolve));
    }
    assert.ok((await asked()).uptime >= uptime);
  });

  test('a segment in doubt is stored while a shard has no events yet', {
    timeout: patience(180_000),
  }, async () => {
    const failures = await stored(1, true);
    assert.deepEqual(
      failures.filter((one) => one.includes('Replicas have not fetched')),
      [],
    );
    assert.deepEqual([await rowsOn(1, 1), await rowsOn(1, 2), await rowsOn(2, 1)], [20, 20, 0]);
  });

  // Shard 1 has one replica from then on.
  test('what one replica has is stored once the other was dropped', {
    timeout: patience(180_000),
  }, async () => {
    await replicas.nodeOf(1, 2).engine.kill();
    const storage = replicas.at(1, 1);
    await eventually('the replica to count as gone', () =>
      storage.command(`SYSTEM DROP REPLICA '2' FROM TABLE events_local`).then(
        () => true,
        () => undefined,
      ),
    );
    for (const shard of [1, 2]) await stored(shard, false);
    await eventually('the other shard to have it twice', async () => {
      const rows = [await rowsOn(2, 1), await rowsOn(2, 2)];
      return rows.every((one) => one === 20) || undefined;
    });
  });

  test('a server that has lost its disk is left out until it is made anew', {
    timeout: patience(180_000),
  }, async () => {
    const lost = replicas.nodeOf(1, 2);
    await lost.engine.forget();
    await lost.engine.start();
    const through = replicas.through(lost, replicas.nodeOf(1, 1));
    try {
      await eventually('the server to be left out', () =>
        through.rows('SELECT count() FROM events').catch(() => undefined),
      );
      await stored(1, false, through);
      await rebuild(replicas, lost);
      await eventually('the server to have all', async () => (await rowsOn(1, 2)) === 20 || undefined);
    } finally {
      await through.close();
    }
  });
});
