import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import * as fc from 'fast-check';
import { FairQueue, type FairQueueOptions } from '../../src/base/waiting/fair-queue.ts';
import { Problem } from '../../src/base/errors/problem.ts';

const usual: FairQueueOptions = {
  slotsPerOrganization: 2,
  slots: 3,
  waitingPerOrganization: 4,
  waiting: 6,
  waitMs: 60_000,
  refusal: 'too many',
  retryAfterSeconds: 7,
  aborted: () => new Error('the caller is gone'),
};

const never = new AbortController().signal;

/** A queue whose turns are ended by hand, and who got one, in order. */
function createScene(options: Partial<FairQueueOptions> = {}) {
  const queue = new FairQueue({ ...usual, ...options });
  const started: string[] = [];
  const turns = new Map<string, () => void>();
  const refused: [string, Error][] = [];
  const ask = (organization: string, name: string, signal = never): void => {
    queue.acquire(organization, signal).then(
      (release) => {
        started.push(name);
        turns.set(name, release);
      },
      (error: Error) => refused.push([name, error]),
    );
  };
  const end = async (name: string): Promise<void> => {
    const release = turns.get(name);
    assert.ok(release, `${name} has no turn`);
    turns.delete(name);
    release();
    await settled();
  };
  return { queue, started, turns, refused, ask, end };
}

const refusedNames = (scene: ReturnType<typeof createScene>) => scene.refused.map(([name]) => name);

describe('a fair queue', () => {
  test('limits one organization to its share, and gives free slots to others immediately', async () => {
    const { started, ask } = createScene();
    for (const name of ['a1', 'a2', 'a3']) ask('a', name);
    ask('b', 'b1');
    await settled();
    assert.deepEqual(started, ['a1', 'a2', 'b1']);
  });

  test('the next turn is for the organization with the fewest, then for the one that has waited longest', async () => {
    const { started, ask, end } = createScene();
    for (const name of ['a1', 'a2', 'a3', 'a4']) ask('a', name);
    for (const name of ['b1', 'b2']) ask('b', name);
    ask('c', 'c1');
    await settled();
    assert.deepEqual(started, ['a1', 'a2', 'b1']);
    await end('a1');
    assert.deepEqual(started.slice(3), ['c1']);
    await end('a2');
    // b has one running and a none, whatever their order of arrival.
    assert.deepEqual(started.slice(4), ['a3']);
    await end('c1');
    assert.deepEqual(started.slice(5), ['b2']);
  });

  test('refuses at once who finds the waiting room full, of the organization or of all', async () => {
    const scene = createScene();
    for (let i = 0; i < 8; i++) scene.ask('a', `a${i}`);
    for (let i = 0; i < 4; i++) scene.ask('b', `b${i}`);
    await settled();
    assert.deepEqual(scene.started, ['a0', 'a1', 'b0']);
    assert.deepEqual(refusedNames(scene), ['a6', 'a7', 'b3']);
    assert.deepEqual(scene.queue.size(), { running: 3, waiting: 6 });
    const [, problem] = scene.refused[0] as [string, Problem];
    assert.ok(problem instanceof Problem);
    assert.deepEqual(
      [problem.code, problem.message, problem.options.retryAfterSeconds],
      ['rate_limited', 'too many', 7],
    );
  });

  test('refuses a task that has waited too long', async () => {
    const scene = createScene({ slots: 1, waitMs: 20 });
    scene.ask('a', 'a1');
    scene.ask('a', 'a2');
    await new Promise((resolve) => setTimeout(resolve, 60));
    assert.deepEqual(refusedNames(scene), ['a2']);
    assert.ok(scene.refused[0]?.[1] instanceof Problem);
    assert.deepEqual(scene.queue.size(), { running: 1, waiting: 0 });
    await scene.end('a1');
    assert.deepEqual(scene.started, ['a1']);
  });

  test('forgets a caller that goes away while it waits', async () => {
    const scene = createScene({ slots: 1 });
    const gone = new AbortController();
    scene.ask('a', 'a1');
    scene.ask('a', 'a2', gone.signal);
    scene.ask('b', 'b1');
    await settled();
    gone.abort();
    await settled();
    assert.deepEqual(refusedNames(scene), ['a2']);
    assert.equal(scene.refused[0]?.[1].message, 'the caller is gone');
    await scene.end('a1');
    assert.deepEqual(scene.started, ['a1', 'b1']);
    scene.ask('c', 'c1', gone.signal);
    await settled();
    assert.deepEqual(refusedNames(scene), ['a2', 'c1']);
  });

  test('a turn that is ended twice is given back once', async () => {
    const { queue } = createScene({ slots: 1 });
    const release = await queue.acquire('a', never);
    release();
    release();
    await queue.acquire('a', never);
    assert.deepEqual(queue.size(), { running: 1, waiting: 0 });
  });

  test('in any history the bounds apply, each task runs, and the fewest goes first', async () => {
    const step = fc.record({
      organization: fc.constantFrom('a', 'b', 'c'),
      ends: fc.nat(20),
      asks: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const scene = createScene({ waitingPerOrganization: 1000, waiting: 1000 });
        const runningOf = (organization: string) =>
          [...scene.turns.keys()].filter((name) => name.startsWith(organization)).length;
        let asked = 0;
        for (const { organization, ends, asks } of steps) {
          if (asks) {
            scene.ask(organization, `${organization}${asked}`);
            asked += 1;
            await settled();
          } else {
            const name = [...scene.turns.keys()][ends % Math.max(1, scene.turns.size)];
            if (name === undefined) continue;
            await scene.end(name);
          }
          const { running, waiting } = scene.queue.size();
          assert.equal(running, scene.turns.size);
          assert.ok(running <= usual.slots);
          for (const each of ['a', 'b', 'c']) assert.ok(runningOf(each) <= usual.slotsPerOrganization);
          assert.equal(scene.started.length + waiting, asked);
          // A turn stays free only where all who wait have their share.
          if (running < usual.slots && waiting > 0) {
            assert.ok(['a', 'b', 'c'].some((each) => runningOf(each) === usual.slotsPerOrganization));
          }
        }
        while (scene.turns.size > 0) await scene.end([...scene.turns.keys()][0] as string);
        assert.equal(scene.started.length, asked);
        for (const each of ['a', 'b', 'c']) {
          const own = scene.started
            .filter((name) => name.startsWith(each))
            .map((name) => Number(name.slice(1)));
          assert.deepEqual(
            own,
            own.toSorted((x, y) => x - y),
            'each organization in its own order',
          );
        }
        assert.deepEqual(scene.queue.size(), { running: 0, waiting: 0 });
      }),
      { numRuns: 150 },
    );
  });
});
