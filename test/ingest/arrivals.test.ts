import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { limits } from '../../src/ingest/limits.ts';
import { Arrivals, SettledSegments } from '../../src/ingest/arrivals.ts';

const never = undefined;
const lastsOf = (arrivals: Arrivals, organizations: string[]) =>
  organizations.map((one) => arrivals.lastSegmentOf(one));

test('an organization is where its last events went, and nowhere while some are being written', async () => {
  const arrivals = new Arrivals(7);
  assert.equal(arrivals.lastSegmentOf('a'), 7);
  const waiting: ((segment: number) => void)[] = [];
  const begin = (organizations: (string | undefined)[]) =>
    arrivals.during(new Set(organizations), () => new Promise<number>((resolve) => waiting.push(resolve)));
  const first = begin(['a', 'b']);
  const second = begin(['a']);
  assert.deepEqual(lastsOf(arrivals, ['a', 'b', 'c']), [never, never, 7]);
  waiting[1]?.(12);
  await second;
  assert.deepEqual(lastsOf(arrivals, ['a', 'b']), [never, never]);
  waiting[0]?.(11);
  await first;
  assert.deepEqual(lastsOf(arrivals, ['a', 'b', 'c']), [12, 11, 7]);
});

test('events of any organization count for each, and unstored ones for none', async () => {
  const arrivals = new Arrivals(0);
  await arrivals.during(new Set(['a']), () => Promise.resolve(5));
  await arrivals.during(new Set([undefined]), () => {
    assert.deepEqual(lastsOf(arrivals, ['a', 'b']), [never, never]);
    return Promise.resolve(6);
  });
  assert.deepEqual(lastsOf(arrivals, ['a', 'b']), [6, 6]);
  await assert.rejects(
    arrivals.during(new Set(['a']), () => Promise.reject(new Error('full'))),
    /full/,
  );
  assert.equal(arrivals.lastSegmentOf('a'), 6);
});

test('of more organizations than are remembered the oldest have the last segment of any that was forgotten', async () => {
  const arrivals = new Arrivals(0);
  let end = (_segment: number): void => {};
  const writing = arrivals.during(new Set(['slow']), () => new Promise<number>((resolve) => (end = resolve)));
  for (let n = 0; n < limits.arrivalsOrganizationsMax + 10; n++) {
    await arrivals.during(new Set([`${n}`]), () => Promise.resolve(n + 1));
  }
  const lasts = lastsOf(arrivals, ['0', 'unheard of', `${limits.arrivalsOrganizationsMax + 9}`]);
  assert.ok((lasts[0] ?? 0) >= 10 && (lasts[0] ?? 0) < 20, `${lasts[0]}`);
  assert.deepEqual(lasts.slice(1), [lasts[0], limits.arrivalsOrganizationsMax + 10]);
  assert.equal(arrivals.lastSegmentOf('slow'), never);
  end(99_999);
  await writing;
  assert.equal(arrivals.lastSegmentOf('slow'), 99_999);
});

test('the oldest organization is not forgotten by the append that is of it and of a new one', async () => {
  const arrivals = new Arrivals(0);
  for (let n = 0; n < limits.arrivalsOrganizationsMax; n++)
    await arrivals.during(new Set([`${n}`]), () => Promise.resolve(1));
  const news = Array.from({ length: limits.arrivalsOrganizationsMax }, (_, n) => `new ${n}`);
  await arrivals.during(new Set(['0', ...news]), () => Promise.resolve(5));
  assert.equal(arrivals.lastSegmentOf('0'), 5);
});

test('what a start found and stored late counts for the segments behind it, also for those without events', () => {
  const settled = new SettledSegments(9, 100);
  assert.equal(settled.lastOf(9), 100);
  settled.settle(6, 120);
  assert.equal(settled.lastOf(9), 120);
});
