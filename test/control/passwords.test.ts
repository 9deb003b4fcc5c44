import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import { hash } from '@node-rs/argon2';
import { limits } from '../../src/control/limits.ts';
import { Problem } from '../../src/base/errors/problem.ts';
import { checkPassword, PasswordVerifier, noPassword, hashPassword } from '../../src/control/passwords.ts';

const malformed = (error: unknown) => error instanceof Problem && error.code === 'malformed';
const parametersOf = (hash: string) => hash.split('$').slice(1, 4);

describe('hashes', () => {
  test('are argon2id, salted, with the parameters of the hash for unknown users', async () => {
    const [a, b] = await Promise.all([
      hashPassword('correct horse battery'),
      hashPassword('correct horse battery'),
    ]);
    assert.notEqual(a, b);
    assert.deepEqual(parametersOf(a), ['argon2id', 'v=19', 'm=19456,t=2,p=1']);
    assert.deepEqual(parametersOf(noPassword), parametersOf(a));
    assert.equal(noPassword.length, a.length);
  });

  test('need 12 characters, not bytes, and have a bound', () => {
    assert.throws(() => checkPassword('elevenchars'), malformed);
    assert.throws(() => checkPassword('🔑'.repeat(11)), malformed);
    assert.throws(() => checkPassword('x'.repeat(limits.passwordBytesMax + 1)), malformed);
    checkPassword('twelve chars');
    checkPassword('パスワードを十二文字で書くよ');
    checkPassword('🔑'.repeat(12));
  });
});

describe('verification', () => {
  test('are compared in any composition of letters', async () => {
    const verifier = new PasswordVerifier();
    const hash = await hashPassword('pässwörd-größe');
    assert.equal(await verifier.verify(hash, 'pässwörd-größe'), true);
    assert.equal(await verifier.verify(hash, 'pässwörd-größe'.normalize('NFD')), true);
    assert.equal(await verifier.verify(hash, 'pässwörd-grösse'), false);
    assert.equal(await verifier.verify(hash, ''), false);
    assert.equal(await verifier.verify(hash, 'x'.repeat(limits.passwordBytesMax + 1)), false);
  });

  test('an unknown user costs as much and never matches', async () => {
    const verifier = new PasswordVerifier();
    const hash = await hashPassword('correct horse battery');
    // Processor time, the best of a few turns: other load hardly affects it.
    const took = async (stored: string | undefined): Promise<number> => {
      const begun = process.cpuUsage();
      assert.equal(await verifier.verify(stored, 'some other password'), false);
      const { user, system } = process.cpuUsage(begun);
      return (user + system) / 1000;
    };
    let [known, unknown] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let i = 0; i < 10; i += 1) {
      known = Math.min(known, await took(hash));
      unknown = Math.min(unknown, await took(undefined));
    }
    assert.ok(unknown > known / 2.5 && unknown < known * 2.5, `${unknown} against ${known} ms`);
  });

  test('is bounded: beyond the waiting room it is refused at once', async () => {
    const verifier = new PasswordVerifier();
    const room = limits.passwordChecksAtOnceMax + limits.passwordChecksWaitingMax;
    // A cheap hash: the test counts checks, not their cost.
    const quick = await hash('another password', { memoryCost: 1024, timeCost: 1 });
    const all = Array.from({ length: room + 5 }, () => verifier.verify(quick, 'some password'));
    const settled = await Promise.allSettled(all);
    const refused = settled.filter((one) => one.status === 'rejected');
    assert.equal(refused.length, 5);
    for (const one of refused) assert.equal((one.reason as Problem).code, 'unavailable');
    assert.equal(await verifier.verify(undefined, 'afterwards it goes on'), false);
  });
});
