import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import * as fc from 'fast-check';
import { Problem } from '../../src/base/errors/problem.ts';
import { limits } from '../../src/control/limits.ts';
import { OwnAccounts } from '../../src/control/own-accounts.ts';
import { type Attempt, PasswordThrottle } from '../../src/control/password-throttle.ts';

/** Only tests advance the time. */
beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 }));
afterEach(() => mock.timers.reset());

const minute = 60_000;
const throttleWith = (bounds: Partial<Record<keyof typeof limits, number>> = {}) =>
  new PasswordThrottle({
    accounts: new OwnAccounts({ nowMs: Date.now, accountsMax: bounds.passwordAccountsMax ?? 50_000 }),
    bounds,
  });

const attempt = (client = 'address 192.0.2.1', more: Partial<Attempt> = {}): Attempt => ({
  scope: '',
  email: 'ann@acme.test',
  client,
  signedIn: false,
  caller: { signal: new AbortController().signal },
  ...more,
});

/** A check in progress, and its result so far. */
class Check {
  state: 'waits' | 'checked' | Problem = 'waits';

  constructor(throttle: PasswordThrottle, one: Attempt, isRight = false, ofAll = true) {
    throttle
      .check(one, async () => {
        this.state = 'checked';
        return isRight ? { value: true, ofAll } : undefined;
      })
      .catch((error: unknown) => {
        assert.ok(error instanceof Problem);
        this.state = error;
      });
  }

  get code(): string {
    return this.state instanceof Problem ? this.state.code : this.state;
  }

  get retryAfter(): number | undefined {
    return this.state instanceof Problem ? this.state.options.retryAfterSeconds : undefined;
  }
}

/** Lets all work finish that needs no time. */
const settle = turnOfTheLoop;

async function pass(ms: number): Promise<void> {
  mock.timers.tick(ms);
  await settle();
}

async function begin(
  throttle: PasswordThrottle,
  one: Attempt,
  isRight = false,
  ofAll = true,
): Promise<Check> {
  const check = new Check(throttle, one, isRight, ofAll);
  await settle();
  return check;
}

async function fail(throttle: PasswordThrottle, times: number, one = attempt()): Promise<void> {
  for (let n = 0; n < times; n++) assert.equal((await begin(throttle, one)).code, 'checked');
}

/** Checks that an attempt waits exactly this long, in ms. */
async function waits(throttle: PasswordThrottle, one: Attempt, ms: number, isRight = false): Promise<void> {
  const check = await begin(throttle, one, isRight);
  assert.equal(check.code, 'waits');
  await pass(ms - 1);
  assert.equal(check.code, 'waits', `before ${ms} ms`);
  await pass(1);
  assert.equal(check.code, 'checked', `after ${ms} ms`);
}

describe('failures of an account', () => {
  test('ten are free, then each check waits, twice as long as the one before, up to a minute', async () => {
    const throttle = throttleWith();
    await fail(throttle, 10);
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60, 60]) await waits(throttle, attempt(), seconds * 1000);
  });

  test('the right password is checked after the wait, and the account starts anew', async () => {
    const throttle = throttleWith();
    await fail(throttle, 10);
    await waits(throttle, attempt(), 1000);
    await waits(throttle, attempt(), 2000, true);
    await fail(throttle, 10);
    await waits(throttle, attempt(), 1000);
  });

  test('are not forgotten for a password that is right for another user with the address alone', async () => {
    const throttle = throttleWith();
    const ownPassword = () => begin(throttle, attempt('address 192.0.2.9'), true, false);
    for (let n = 0; n < 20; n++) assert.equal((await ownPassword()).code, 'checked', 'nor is it counted');
    await fail(throttle, 9);
    assert.equal((await ownPassword()).code, 'checked');
    // From now on all wait, each time longer.
    await waits(throttle, attempt(), 1000);
    const inBetween = await ownPassword();
    await pass(2000);
    assert.equal(inBetween.code, 'checked');
    await waits(throttle, attempt(), 4000);
    // Its client is not a known one either.
    const others = Array.from({ length: 8 }, (_, n) => attempt(`address 198.51.100.${n}`));
    for (const one of others) assert.equal((await begin(throttle, one)).code, 'waits');
    assert.equal((await ownPassword()).code, 'rate_limited');
  });

  test('count for a quarter of an hour', async () => {
    const throttle = throttleWith();
    await fail(throttle, 1);
    await pass(minute);
    await fail(throttle, 9);
    await pass(14 * minute - 1);
    await waits(throttle, attempt(), 1000);
    // The oldest of the ten before is now a minute younger.
    await waits(throttle, attempt(), 2000);
    await pass(15 * minute);
    await fail(throttle, 10);
    await waits(throttle, attempt(), 1000);
  });

  test('are of one account: the case of the address makes none, another scope does', async () => {
    const throttle = throttleWith();
    await fail(throttle, 10);
    await waits(throttle, attempt('address 192.0.2.1', { email: 'ANN@Acme.test' }), 1000);
    await fail(throttle, 1, attempt('address 192.0.2.1', { email: 'bob@acme.test' }));
    await fail(throttle, 1, attempt('address 192.0.2.1', { scope: 'acme' }));
  });

  test('are of one account wherever they come from, signed in or not', async () => {
    const throttle = throttleWith();
    for (let n = 0; n < 5; n++) {
      await fail(throttle, 1, attempt(`address 192.0.2.${n}`));
      await fail(throttle, 1, attempt('user 1', { signedIn: true }));
    }
    await waits(throttle, attempt('address 192.0.2.99'), 1000);
    await waits(throttle, attempt('user 1', { signedIn: true }), 2000);
  });
});

describe('checks at the same time', () => {
  const from = (n: number) => attempt(`address 192.0.2.${n}`);

  test('count as they begin: no more than ten go at once, however many are sent', async () => {
    const throttle = throttleWith();
    const checks = Array.from({ length: 30 }, (_, n) => new Check(throttle, from(n)));
    await settle();
    const codes = checks.map(({ code }) => code);
    assert.deepEqual(codes.slice(0, 10), Array(10).fill('checked'));
    assert.deepEqual(codes.slice(10, 18), Array(8).fill('waits'));
    assert.deepEqual(codes.slice(18), Array(12).fill('rate_limited'));
    for (const ms of [1000, 1000, 2000, 4000, 8000, 16_000, 28_000]) {
      await pass(ms - 1);
      const before = checks.filter(({ code }) => code === 'waits').length;
      await pass(1);
      const now = checks.filter(({ code }) => code === 'waits').length;
      assert.ok(now < before, `${ms} ms later one more has been checked`);
    }
    assert.equal(checks.filter(({ code }) => code === 'waits').length, 0);
  });

  test('a client waits once for an account, and gets the time to retry', async () => {
    const throttle = throttleWith();
    await fail(throttle, 10, from(1));
    await waits(throttle, from(1), 1000);
    const first = await begin(throttle, from(1));
    await pass(500);
    const second = await begin(throttle, from(1));
    assert.deepEqual([first.code, second.code, second.retryAfter], ['waits', 'rate_limited', 2]);
    assert.deepEqual((second.state as Problem).options.headers, {
      'RateLimit-Limit': '10',
      'RateLimit-Remaining': '0',
      'RateLimit-Reset': '2',
    });
    // A refused attempt was not checked, so it does not extend the next wait.
    await pass(1500);
    await waits(throttle, from(1), 4000);
  });

  test('places are kept for those who are signed in and for addresses that were right before', async () => {
    const throttle = throttleWith();
    assert.equal((await begin(throttle, from(200), true)).code, 'checked');
    await fail(throttle, 10);
    const strangers = Array.from({ length: 9 }, (_, n) => new Check(throttle, from(n)));
    await settle();
    assert.deepEqual(
      strangers.map(({ code }) => code),
      [...Array<string>(8).fill('waits'), 'rate_limited'],
    );
    const known = await begin(throttle, from(200), true);
    const signedIn = await begin(throttle, attempt('user 1', { signedIn: true }), true);
    assert.deepEqual([known.code, signedIn.code], ['waits', 'waits']);
    assert.equal((await begin(throttle, attempt('user 2', { signedIn: true }))).code, 'rate_limited');
    await pass(minute);
    assert.deepEqual([known.code, signedIn.code], ['checked', 'checked']);
    // The last password was right, so the failures are forgotten.
    assert.equal((await begin(throttle, from(8))).code, 'checked');
  });

  test('all accounts together have a bound, with places kept as well', async () => {
    const throttle = throttleWith({ passwordFailuresMax: 1, passwordWaitsMax: 3, passwordWaitsReserved: 1 });
    const of = (n: number, more: Partial<Attempt> = {}) =>
      attempt(`address 192.0.2.${n}`, { email: `${n}@acme.test`, ...more });
    const codes: string[] = [];
    for (let n = 0; n < 5; n++) {
      await fail(throttle, 1, of(n));
      codes.push((await begin(throttle, of(n))).code);
    }
    assert.deepEqual(codes, ['waits', 'waits', 'waits', 'rate_limited', 'rate_limited']);
    assert.equal((await begin(throttle, of(4, { client: 'user 4', signedIn: true }))).code, 'waits');
    assert.equal((await begin(throttle, of(3, { client: 'user 3', signedIn: true }))).code, 'rate_limited');
  });

  test('who goes away gives the place back unchecked; a stop ends all waits', async () => {
    const throttle = throttleWith({ passwordWaitsPerAccountMax: 1 });
    await fail(throttle, 10);
    const gone = new AbortController();
    const first = await begin(throttle, attempt('address 192.0.2.2', { caller: gone }));
    assert.equal((await begin(throttle, from(3))).code, 'rate_limited');
    gone.abort();
    await settle();
    assert.equal(first.code, 'unavailable');
    const late = await begin(throttle, attempt('address 192.0.2.2', { caller: gone }));
    assert.equal(late.code, 'unavailable');
    const second = await begin(throttle, from(3));
    assert.equal(second.code, 'waits');
    throttle.stop();
    await settle();
    assert.equal(second.code, 'unavailable');
    // A request whose body is still coming must not delay the stop either.
    assert.equal((await begin(throttle, from(3))).code, 'unavailable');
  });
});

test('at any rate of guessing, a check that did not wait has fewer than the limit before it in the window', async () => {
  const bounds = {
    passwordFailuresMax: 3,
    passwordFailuresWindowMs: 1000,
    passwordDelayMsMin: 10,
    passwordDelayMsMax: 80,
    passwordWaitsPerAccountMax: 4,
  };
  const step = fc.record({ client: fc.nat(5), ms: fc.nat(300) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const throttle = throttleWith(bounds);
      const begun: number[] = [];
      for (const { client, ms } of steps) {
        await pass(ms);
        const { code } = await begin(throttle, attempt(`address 192.0.2.${client}`));
        if (code === 'rate_limited') continue;
        const before = begun.filter((at) => Date.now() - at < bounds.passwordFailuresWindowMs).length;
        assert.equal(code === 'checked', before < bounds.passwordFailuresMax);
        begun.push(Date.now());
      }
      throttle.stop();
    }),
    { numRuns: 50 },
  );
});

test('memory is bounded: the account tried least recently is forgotten', async () => {
  const throttle = throttleWith({ passwordAccountsMax: 100 });
  const of = (n: number) => attempt('address 192.0.2.1', { email: `${n}@acme.test` });
  await fail(throttle, 10, of(0));
  await fail(throttle, 10, of(1));
  for (let n = 2; n < 100; n++) await fail(throttle, 1, of(n));
  await waits(throttle, of(0), 1000);
  await fail(throttle, 1, of(100));
  await fail(throttle, 1, of(1));
  await waits(throttle, of(0), 2000);
});
