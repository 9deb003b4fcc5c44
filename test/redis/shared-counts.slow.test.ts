import { strict as assert } from 'node:assert';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from '../../src/control/account-checks.ts';
import { OwnAccounts } from '../../src/control/own-accounts.ts';
import { type Attempt, PasswordThrottle } from '../../src/control/password-throttle.ts';
import { RateLimiter } from '../../src/http/rate-limit.ts';
import { SharedCounts } from '../../src/redis/shared-counts.ts';
import { eventually } from '../support/http.ts';
import { skipWithoutRedis, startRedis, type TestRedis } from '../support/redis.ts';

/** Shared counts as each process sees them; two connections stand for two processes. */
describe('counts in Redis', { skip: skipWithoutRedis }, () => {
  const lines: string[] = [];
  const note = (_: object, words: string) => void lines.push(words);
  const log = { debug: note, info: note, warn: note, error: note };
  const minute = 60_000;
  const away = /^Redis is away/;
  const back = /are shared with other servers/;
  let redis: TestRedis;
  let one: SharedCounts;
  let two: SharedCounts;

  const open = () => SharedCounts.open({ url: redis.url, secret: 'the secret of these tests', log });
  const ratesOf = (counts: SharedCounts) => counts.rates(new RateLimiter(() => performance.now()));
  const bothAre = (isReachable: boolean) =>
    eventually(
      `both to find Redis ${isReachable ? 'there' : 'away'}`,
      async () => (one.isReachable === isReachable && two.isReachable === isReachable) || undefined,
    );

  /** While Redis is slow each process counts alone: on a busy machine the work is repeated with new names. */
  const undisturbed = async (work: (name: string) => Promise<void>) => {
    for (let attempt = 1; ; attempt++) {
      try {
        await bothAre(true);
        return await work(`try ${attempt}`);
      } catch (error) {
        if (attempt === 4) throw error;
      }
    }
  };

  before(async () => {
    redis = await startRedis();
    [one, two] = await Promise.all([open(), open()]);
  });
  after(async () => {
    one?.stop();
    two?.stop();
    await redis?.stop();
  });

  test('all servers use up one limit, to the last request, and each returns the rest', async () => {
    await undisturbed(async (name) => {
      const processes = [ratesOf(one), ratesOf(two)];
      const rate = { requests: 20, windowMs: minute };
      const verdicts = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          (processes[n % 2] as (typeof processes)[0]).consume(`exact ${name}`, rate),
        ),
      );
      const allowed = verdicts.filter((verdict) => verdict.allowed);
      const left = allowed.map(({ remaining }) => remaining).toSorted((a, b) => a - b);
      assert.deepEqual(
        left,
        Array.from({ length: 20 }, (_, n) => n),
      );
      for (const { limit, remaining, resetSeconds } of verdicts.filter((verdict) => !verdict.allowed))
        assert.deepEqual([limit, remaining, resetSeconds > 55 && resetSeconds <= 60], [20, 0, true]);
      for (const [n, process] of processes.entries()) {
        assert.equal((await process.peek(`exact ${name}`, rate)).allowed, false);
        assert.equal((await process.peek(`another ${name}`, rate)).remaining, 19 - n);
        // A key that gets another rate keeps its window.
        const { limit, remaining } = await process.consume(`another ${name}`, { ...rate, requests: 3 });
        assert.deepEqual([limit, remaining], [3, 2 - n]);
      }
    });
  });

  test('windows of less than a second end in time, and the next begins', async () => {
    const [first, second] = [ratesOf(one), ratesOf(two)];
    const rate = { requests: 1, windowMs: 150 };
    const begun = performance.now();
    assert.equal((await first.consume('short', rate)).allowed, true);
    const refused = await second.consume('short', rate);
    if (performance.now() - begun < rate.windowMs) assert.equal(refused.allowed, false);
    await sleep(rate.windowMs + 20);
    assert.equal((await second.consume('short', rate)).allowed, true);
  });

  test('a window ends in time, even if the clock is set back meanwhile', async (t) => {
    await undisturbed(async (name) => {
      const rates = ratesOf(one);
      const rate = { requests: 1, windowMs: 400 };
      const isAllowed = async () => (await rates.consume(`set back ${name}`, rate)).allowed;
      assert.deepEqual([await isAllowed(), await isAllowed()], [true, false]);
      const now = Date.now;
      const setBack = t.mock.method(Date, 'now', () => now() - 3_600_000);
      try {
        await sleep(450);
        assert.equal(await isAllowed(), true);
      } finally {
        setBack.mock.restore();
      }
    });
  });

  test('a caller known to exceed its limit causes no request to Redis', async () => {
    const rates = ratesOf(one);
    const rate = { requests: 1, windowMs: minute };
    await rates.consume('flood', rate);
    redis.pause();
    try {
      assert.equal((await rates.consume('flood', rate)).allowed, false);
      assert.equal(one.isReachable, true, 'Redis was asked');
    } finally {
      redis.resume();
    }
  });

  test('failed passwords of an account are counted together, and the right one resets the count for all', async () => {
    const throttleOf = (counts: SharedCounts) =>
      new PasswordThrottle({
        accounts: counts.records<Account>('account', (nowMs) => new OwnAccounts({ nowMs })),
        bounds: { passwordDelayMsMin: 40, passwordDelayMsMax: 10_000 },
      });
    const throttles = [throttleOf(one), throttleOf(two)] as const;
    const attempt = (client: string, scope: string): Attempt => ({
      scope,
      email: 'Ann@acme.test',
      client,
      signedIn: false,
      caller: { signal: new AbortController().signal },
    });
    /** Delay of a check. */
    const checkOf =
      (scope: string) =>
      async (n: number, isRight = false) => {
        const begun = performance.now();
        let checkedMs = 0;
        await throttles[n % 2]?.check(attempt(`address 192.0.2.${n % 2}`, scope), async () => {
          checkedMs = performance.now() - begun;
          return isRight ? { value: true, ofAll: true } : undefined;
        });
        return checkedMs;
      };
    await undisturbed(async (name) => {
      const check = checkOf(`acme ${name}`);
      await Promise.all(Array.from({ length: 10 }, (_, n) => check(n)));
      for (const [n, ms] of [40, 80, 160].entries()) {
        const held = await check(n);
        assert.ok(held >= ms - 2, `check ${n} was held for ${held} ms, not ${ms}`);
      }
      assert.ok((await check(3, true)) >= 318);
      // Ten others do not wait for the next delay of half a second.
      for (let n = 0; n < 10; n++) await check(n);
      assert.ok((await check(0)) >= 38);
    });
    const texts = (await redis.contents()).join('\n');
    for (const secret of ['ann', 'Ann', 'acme', '192.0.2', 'exact', 'flood'])
      assert.ok(!texts.includes(secret), `${secret} can be read in Redis: ${texts}`);
    assert.match(texts, /auditlog:account:/);
  });

  test('a change that loses a race is repeated: none is lost', async () => {
    const records = [one, two].map((counts) =>
      counts.records<Account>('account', (nowMs) => new OwnAccounts({ nowMs })),
    );
    const addTo = (name: string) => (n: number) =>
      records[n % 2]?.update(`contended ${name}`, (state) => {
        const account = state ?? { begun: [], delayed: 0, knownClients: [], waiting: {} };
        return {
          state: { ...account, delayed: account.delayed + 1 },
          keptMs: minute,
          result: account.delayed,
        };
      });
    await undisturbed(async (name) => {
      const add = addTo(name);
      const seen = await Promise.all(Array.from({ length: 30 }, async (_, n) => add(n)));
      assert.deepEqual(
        seen.toSorted((a, b) => Number(a) - Number(b)),
        Array.from({ length: 30 }, (_, n) => n),
      );
    });
  });

  test('while Redis hangs waits are short, each server counts alone, and it reconnects', async () => {
    const [first, second] = [ratesOf(one), ratesOf(two)];
    const rate = { requests: 2, windowMs: minute };
    /** Timers fire in order on any machine: work slower than `ms` comes second. */
    const within = async <T>(ms: number, work: Promise<T>): Promise<T> => {
      const late = sleep(ms).then(() => assert.fail(`it took more than ${ms} ms`));
      return Promise.race([work, late]);
    };
    await first.consume('paused', rate);
    await second.consume('paused', rate);
    lines.length = 0;
    redis.pause();
    try {
      const caught = await within(300, first.consume('paused', rate));
      assert.equal(caught.remaining, 1, 'this process begins to count by itself');
      await second.consume('another of these', rate);
      await bothAre(false);
      const others = Array.from({ length: 200 }, (_, n) => first.consume(`other ${n}`, rate));
      await within(100, Promise.all(others));
      assert.equal((await first.consume('paused', rate)).allowed, true);
      assert.equal((await first.consume('paused', rate)).allowed, false);
      assert.equal(lines.filter((line) => away.test(line)).length, 2, lines.join('\n'));
    } finally {
      redis.resume();
    }
    await bothAre(true);
    assert.equal(lines.filter((line) => back.test(line)).length, 2, lines.join('\n'));
    assert.equal((await second.consume('paused', rate)).allowed, false, 'the shared count has gone on');
  });

  test('Redis may be killed and come back empty, and a process may start while it is away', async () => {
    const rate = { requests: 2, windowMs: minute };
    await redis.kill();
    await bothAre(false);
    const third = await open();
    try {
      assert.equal(third.isReachable, false);
      assert.equal((await ratesOf(third).consume('killed', rate)).remaining, 1);
      await redis.start();
      await bothAre(true);
      await eventually('the third to find Redis', async () => third.isReachable || undefined);
      await ratesOf(one).consume('killed', rate);
      assert.equal((await ratesOf(third).consume('killed', rate)).remaining, 0);
    } finally {
      third.stop();
    }
  });
});
