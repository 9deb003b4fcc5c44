import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../src/storage/limits.ts';
import { SharedOrder } from '../../src/storage/shared-order.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { readWriters } from '../../src/storage/watermarks.ts';
import { silentLog } from '../support/engine.ts';
import { eventually } from '../support/http.ts';
import { sharedEngine } from '../support/shared.ts';

/** Numbers of a server without its log. */
class Numbers {
  last: number;
  inFlight: number | undefined;

  constructor(last: number) {
    this.last = last;
  }

  lowest(): number {
    const lowest = this.inFlight ?? this.last + 1;
    this.last = Math.max(this.last, lowest - 1);
    return lowest;
  }

  raise(number: number): void {
    this.last = Math.max(this.last, number);
  }

  isInFlight(): boolean {
    return this.inFlight !== undefined;
  }

  take(): number {
    this.last += 1;
    this.inFlight = this.last;
    return this.last;
  }
}

/** Servers as members of one order, without the servers. Numbers rise from test to test, as all know all rows. */
describe('the order of servers that share an engine', () => {
  let storage: Storage;
  let base = 0;
  const joined: SharedOrder[] = [];
  const numbers: Numbers[] = [];
  before(async () => {
    ({ storage } = await sharedEngine());
    base = 10 ** 12;
  });
  afterEach(async () => {
    for (const one of numbers.splice(0)) one.inFlight = undefined;
    for (const one of joined.splice(0)) await one.leave();
    base += 10 ** 6;
  });
  after(() => storage.command('TRUNCATE TABLE watermarks'));

  interface Joining {
    readonly instance?: string;
    readonly isAtHome?: boolean;
    readonly leaseMs?: number;
    readonly failed?: (error: Error) => void;
    readonly last?: number;
    readonly inFlight?: number;
  }
  async function join(how: Joining = {}) {
    const { instance = randomUUID(), isAtHome = true, failed = () => undefined, last = base } = how;
    const own = new Numbers(last);
    own.inFlight = how.inFlight;
    const { leaseMs = limits.writerLeaseMs } = how;
    const options = {
      storage,
      instance,
      isAtHome,
      leaseMs,
      log: silentLog,
      failed,
      takeNumber: async () => undefined,
    };
    const order = await SharedOrder.join(options, own);
    joined.push(order);
    numbers.push(own);
    return { order, own, instance };
  }
  const rowOf = async (instance: string) =>
    (await readWriters(storage)).find(({ writer }) => writer === instance);
  /** As of a process that was killed: no more signs of life; what it had in flight stays. */
  async function kill(order: SharedOrder, own: Numbers): Promise<void> {
    own.take();
    await order.leave();
    joined.splice(joined.indexOf(order), 1);
  }

  test('tells no watermark above what another may still store, and goes on once that is stored', async () => {
    const one = await join();
    const other = await join();
    const number = other.own.take();
    await eventually(
      'it to be published',
      async () => (await rowOf(other.instance))?.low === number || undefined,
    );
    one.own.raise(number + 1000);
    await sleep(limits.watermarkPublishMs * 2);
    assert.equal(one.order.watermark() <= number, true);
    other.own.inFlight = undefined;
    other.own.raise(number + 2000);
    await eventually('the watermark to pass it', async () => one.order.watermark() > number || undefined);
  });

  test('lets a server join above every watermark that was told, however far its own numbers are behind', async () => {
    const one = await join({ last: base + 5000 });
    const told = one.order.watermark();
    const late = await join({ last: 7 });
    assert.ok(late.own.take() >= Math.max(told, one.order.watermark()));
  });

  test('waits for a server that died with a number in flight, and not for longer than an INSERT can last', async () => {
    const one = await join();
    const dead = await join({ leaseMs: 1 });
    await kill(dead.order, dead.own);
    const row = await rowOf(dead.instance);
    assert.equal(row?.isOpen, true);
    assert.equal(row?.goneAfterMs, 1 + limits.insertMsMax + limits.insertEndMsMax);
    one.own.raise(base + 5000);
    await sleep(limits.watermarkPublishMs * 2);
    assert.ok(one.order.watermark() <= (row?.low ?? 0));
    // As if that time had passed.
    await storage.command(
      `INSERT INTO watermarks SELECT * REPLACE (version + 1 AS version, 1 AS gone_after) FROM watermarks FINAL WHERE writer = {writer:UUID}`,
      { writer: dead.instance },
    );
    await eventually('nobody to wait for it', async () => one.order.watermark() > base + 5000 || undefined);
    await eventually(
      'its row to be closed',
      async () => (await rowOf(dead.instance))?.isOpen === false || undefined,
    );
    // It comes back, and what it had in flight holds nobody back any more.
    const back = await join({ instance: dead.instance, last: dead.own.last });
    assert.ok(back.own.take() >= one.order.watermark());
  });

  test('keeps the watermark of a server that is back before it was taken for gone', async () => {
    const one = await join();
    const dead = await join();
    await kill(dead.order, dead.own);
    const low = (await rowOf(dead.instance))?.low ?? 0;
    one.own.raise(base + 5000);
    const back = await join({ instance: dead.instance, last: base, inFlight: low });
    await sleep(limits.watermarkPublishMs * 2);
    assert.ok(one.order.watermark() <= low);
    back.own.inFlight = undefined;
    await eventually('its question to be answered', async () => one.order.watermark() > low || undefined);
  });

  test('has a server that was cut off join anew before it takes a number', async () => {
    const one = await join();
    const cut = await join({ leaseMs: 0 });
    assert.throws(() => cut.order.requireReady(), /could not publish its watermark/);
    one.own.raise(base + 5000);
    await eventually(
      'the other to be far',
      async () => ((await rowOf(one.instance))?.low ?? 0) > base + 5000 || undefined,
    );
    await cut.order.ready();
    assert.ok(cut.own.take() > base + 5000);
  });

  test('refuses a copy of the data directory of a server that runs, and ends one of two that began at once', async () => {
    const one = await join();
    await assert.rejects(
      join({ instance: one.instance, isAtHome: false }),
      /is a copy of the one of a running server/,
    );
    const failures: string[] = [];
    const failed = (error: Error): void => void failures.push(error.message);
    const two = await join({ failed });
    await join({ instance: two.instance, failed });
    await eventually('one to fail', async () => failures.length > 0 || undefined);
    assert.match(failures[0] ?? '', /is a copy of the one/);
  });
});
