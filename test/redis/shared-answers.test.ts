import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SharedCounts } from '../../src/redis/shared-counts.ts';
import type { SharedAnswers } from '../../src/redis/shared-answers.ts';
import { silentLog } from '../support/engine.ts';
import { eventually } from '../support/http.ts';
import { skipWithoutRedis, startRedis, type TestRedis } from '../support/redis.ts';

/** Two connections stand for two servers. */
describe('answers in Redis', { skip: skipWithoutRedis }, () => {
  interface Answer {
    readonly accepted: number;
  }
  const answer: Answer = { accepted: 7 };
  let redis: TestRedis;
  let both: SharedCounts[];
  let one: SharedAnswers<Answer>;
  let two: SharedAnswers<Answer>;

  const reachable = () =>
    eventually(
      'Redis to be reachable',
      async () => both.every(({ isReachable }) => isReachable) || undefined,
    );
  /** Takes a key that nobody has. */
  const claimed = async (answers: SharedAnswers<Answer>, id: string, sent = 'body') => {
    const claim = await answers.claim(id, sent);
    assert.ok(claim.kind === 'claimed', `${id} was answered`);
    return claim;
  };

  before(async () => {
    redis = await startRedis();
    const open = () => SharedCounts.open({ url: redis.url, secret: 'of these tests', log: silentLog });
    both = [await open(), await open()];
    [one, two] = both.map((counts) => counts.answers<Answer>(randomUUID())) as [
      SharedAnswers<Answer>,
      SharedAnswers<Answer>,
    ];
  });
  after(async () => {
    for (const counts of both ?? []) counts.stop();
    await redis?.stop();
  });

  it('are given to a repeat at another server, with the digest of the body', async () => {
    const id = randomUUID();
    await (await claimed(one, id)).answered(answer);
    const expected = { kind: 'answered', sent: 'body', answer };
    assert.deepEqual(await two.claim(id, 'another body'), expected);
    assert.deepEqual(await two.find(id), expected);
    assert.equal(await two.find(randomUUID()), undefined);
  });

  it('are stored by one of many that ask at once', async () => {
    for (let round = 0; round < 20; round++) {
      const id = randomUUID();
      let claims = 0;
      const ask = async (answers: SharedAnswers<Answer>) => {
        const claim = await answers.claim(id, 'body');
        if (claim.kind === 'answered') return;
        claims += 1;
        await sleep(1);
        await claim.answered(answer);
      };
      await Promise.all([ask(one), ask(two)]);
      assert.equal(claims, 1);
    }
  });

  it('are waited for, but not for ever', async () => {
    const id = randomUUID();
    const claim = await claimed(one, id);
    const waiting = two.claim(id, 'body');
    await sleep(100);
    await claim.answered(answer);
    assert.equal((await waiting).kind, 'answered');

    const stuck = randomUUID();
    await claimed(one, stuck);
    await assert.rejects(two.claim(stuck, 'body'), /Another server is working on a request/);
  });

  it('are left to the next when nothing was stored', async () => {
    const id = randomUUID();
    await (await claimed(one, id)).withdraw();
    await (await claimed(two, id)).withdraw();
  });

  it('that a server did not give before it died are its own to give', async () => {
    const id = randomUUID();
    const instance = randomUUID();
    const [counts] = both as [SharedCounts];
    await claimed(counts.answers<Answer>(instance), id);
    await claimed(counts.answers<Answer>(instance), id);
  });

  it('of another server stay where a claim has expired, or was made without Redis', async () => {
    const expected = { kind: 'answered', sent: 'body', answer };
    for (const end of ['withdraw', 'answered'] as const) {
      const id = randomUUID();
      const late = await claimed(one, id);
      await redis.clear();
      const claim = await claimed(two, id);
      await (end === 'withdraw' ? late.withdraw() : late.answered({ accepted: 1 }));
      await assert.rejects(one.claim(id, 'body'), /Another server is working on a request/);
      await claim.answered(answer);
      await (end === 'withdraw' ? late.withdraw() : late.answered({ accepted: 1 }));
      assert.deepEqual(await one.find(id), expected);
    }
    const id = randomUUID();
    await redis.kill();
    const alone = await claimed(one, id);
    await redis.start();
    await reachable();
    await (await claimed(two, id)).answered(answer);
    await alone.withdraw();
    assert.deepEqual(await one.find(id), expected);
  });

  it('in an unknown form count as none', async () => {
    const id = randomUUID();
    await (await claimed(one, id)).answered(answer);
    await redis.overwrite('{"sent"');
    await claimed(two, id);
  });

  it('are not asked for while Redis is away, but a key that another server has is not stored twice', async () => {
    const [id, lost] = [randomUUID(), randomUUID()];
    await reachable();
    await claimed(one, id);
    const refused = assert.rejects(two.claim(id, 'body'), /Another server is working on a request/);
    await sleep(100);
    await redis.kill();
    await refused;
    const claim = await claimed(two, lost);
    await claim.answered(answer);
    await claim.withdraw();
    assert.equal(await one.find(lost), undefined);
    await redis.start();
    await reachable();
    await claimed(one, lost);
  });
});
