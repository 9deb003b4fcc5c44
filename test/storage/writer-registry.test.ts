import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { StopStack } from '../../src/base/processes/stop-stack.ts';
import { WriterRegistry } from '../../src/storage/writer-registry.ts';
import { eventually } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { sharedEngine, type SharedEngine } from '../support/shared.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };

/** Servers as members of an engine, without the servers: what they may still do once they were fenced. */
describe('a member of an engine', () => {
  let engine: SharedEngine;
  let dataDir: string;
  const stops = new StopStack(log);

  before(async () => {
    engine = await sharedEngine();
    dataDir = await temporaryDirectory();
  });
  after(async () => {
    await stops.run();
    if (dataDir !== undefined) await removeDirectory(dataDir);
  });

  /** `leaseMs` 0: it must ask before each segment, as one that has been cut off. */
  const join_ = (instance: string, leaseMs: number, failures: string[] = []) =>
    WriterRegistry.join({
      storage: engine.storage,
      dataDir,
      instance,
      log,
      stops,
      leaseMs,
      failed: (error) => void failures.push(error.message),
    });
  const segment = { number: 1, rows: 1, body: [], doubtful: false, isDamaged: false };
  const fence = (instance: string) =>
    engine.storage.insertRows('fenced_writers', [{ instance, id: 0, low: 0, operator: 'test' }]);

  test('that was cut off and fenced sends nothing more, and must end', async () => {
    const instance = randomUUID();
    const failures: string[] = [];
    const member = await join_(instance, 0, failures);
    const sent: number[] = [];
    const sink = member.fence(async ({ number }) => {
      sent.push(number);
      return 'stored';
    });
    assert.equal(await sink(segment), 'stored');
    await fence(instance);
    await assert.rejects(sink({ ...segment, number: 2 }), /was fenced while it was away/);
    await assert.rejects(sink({ ...segment, number: 3 }), /was fenced while it was away/);
    assert.deepEqual(sent, [1]);
    assert.equal(failures.length, 1);
  });

  test('that the engine has just heard of does not ask before each segment', async () => {
    const instance = randomUUID();
    const failures: string[] = [];
    const member = await join_(instance, 60_000, failures);
    const sink = member.fence(async () => 'stored');
    await fence(instance);
    assert.equal(await sink(segment), 'stored');
    // By its next sign of life it knows.
    await eventually('it to find out', async () => failures.length > 0 || undefined);
    await assert.rejects(sink(segment), /was fenced/);
  });

  test('that was fenced joins as another, the same one until it has succeeded', async () => {
    const instance = randomUUID();
    await fence(instance);
    const first = await join_(instance, 0);
    assert.ok(Number(first.renumberAfter) > 0);
    const next = (await readFile(join(dataDir, 'instance-id.next'), 'utf8')).trim();
    assert.notEqual(next, instance);
    // As after a crash: what was promised is promised still.
    const second = await join_(instance, 0);
    assert.deepEqual([second.renumberAfter, second.writer], [first.renumberAfter, first.writer]);
    await second.succeed();
    assert.equal((await readFile(join(dataDir, 'instance-id'), 'utf8')).trim(), next);
    assert.equal((await join_(next, 0)).renumberAfter, undefined);
  });
});
