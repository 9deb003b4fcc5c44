import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../src/base/errors/problem.ts';
import type { BatchAnswer, Entry } from '../../src/ingest/answer-records.ts';
import { Gathered } from '../../src/ingest/gathered.ts';
import { KeyClaims } from '../../src/ingest/key-claims.ts';
import { limits } from '../../src/ingest/limits.ts';
import { type KeyRow, KeyTable } from '../../src/storage/key-table.ts';
import { eventually } from '../support/http.ts';
import { rounds } from '../support/rounds.ts';
import { sharedEngine } from '../support/shared.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

let table: KeyTable;
before(async () => {
  table = new KeyTable((await sharedEngine()).storage, Date.now);
});

const answerOf = (accepted: number): BatchAnswer => ({ accepted, rejected: 0, errors: [] });

/** A process: what it has stored, by id, outlives its death, as its log does. */
class Process {
  readonly instance = randomUUID();
  readonly stored = new Map<string, Entry>();
  /** Requests of a run that has died come to nothing. */
  run = 0;
  readonly #underWay = new Set<Promise<unknown>>();
  claims = this.#open();

  /** A run asks the engine nothing after its death. */
  #open(): KeyClaims {
    const { run } = this;
    const ask = <T>(question: () => Promise<T>): Promise<T> => {
      if (run !== this.run) return Promise.reject(new Error('this process is dead'));
      const asked = question();
      this.#underWay.add(asked);
      return asked.finally(() => this.#underWay.delete(asked));
    };
    const ofRun = {
      put: (...given: Parameters<KeyTable['put']>) => ask(() => table.put(...given)),
      read: (...given: Parameters<KeyTable['read']>) => ask(() => table.read(...given)),
      unresolved: (instance: string) => ask(() => table.unresolved(instance)),
    };
    return new KeyClaims({ table: ofRun, instance: this.instance, log });
  }

  async restart(): Promise<void> {
    const dead = this.claims;
    this.run += 1;
    await Promise.allSettled(this.#underWay);
    this.claims = this.#open();
    await Promise.all([dead.stop(), this.claims.resolveOwn((id) => this.stored.get(id))]);
  }

  store(id: string, sent: string, accepted: number): BatchAnswer {
    assert.ok(!this.stored.has(id), 'one process stores a key twice');
    const answer = answerOf(accepted);
    this.stored.set(id, { id, body: sent, at: Date.now(), answer });
    return answer;
  }
}

type Fate = 'answers' | 'fails' | 'dies before' | 'dies after';

/** One request as the front end handles it; `undefined` where it has no answer for its client. */
async function request(of: Process, id: string, fate: Fate): Promise<BatchAnswer | undefined> {
  const { run } = of;
  const known = of.stored.get(id);
  if (known !== undefined) return known.answer;
  let claim: Awaited<ReturnType<KeyClaims['claim']>>;
  try {
    claim = await of.claims.claim(id, 'body');
  } catch (error) {
    assert.ok(error instanceof Problem && error.code === 'unavailable', String(error));
    return undefined;
  }
  if (claim.kind === 'answered') {
    assert.equal(claim.sent, 'body');
    return claim.answer;
  }
  await sleep(Math.random() * 20);
  if (fate === 'dies before' || of.run !== run) return undefined;
  if (fate === 'fails') {
    claim.withdraw();
    return undefined;
  }
  const answer = of.store(id, 'body', Math.floor(Math.random() * 1e9));
  if (fate === 'dies after') return undefined;
  claim.answered(answer);
  return answer;
}

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T;

describe('claims on Idempotency-Keys', () => {
  test('of the processes on an engine one stores, and all give its answer', async () => {
    const processes = [new Process(), new Process(), new Process()];
    const ids = Array.from({ length: rounds(12, 60) }, () => randomUUID());
    const fates: Fate[] = ['answers', 'answers', 'fails', 'dies before', 'dies after'];
    const first = ids.flatMap((id) =>
      processes.map(async (one) => [id, await request(one, id, pick(fates))] as const),
    );
    // While some wait for claims of the dead, these come back.
    await Promise.race([Promise.all(first), sleep(300)]);
    await Promise.all(processes.map((one) => one.restart()));
    const given: (readonly [string, BatchAnswer | undefined])[] = await Promise.all(first);
    for (const id of ids)
      for (const one of processes) {
        let answer: BatchAnswer | undefined;
        for (let tries = 0; answer === undefined && tries < 5; tries++)
          answer = await request(one, id, 'answers');
        given.push([id, answer]);
      }
    for (const id of ids) {
      const stored = processes.flatMap((one) => one.stored.get(id) ?? []);
      assert.equal(stored.length, 1, `stored by ${stored.length} processes`);
      for (const [of, answer] of given)
        if (of === id && answer !== undefined) assert.deepEqual(answer, stored[0]?.answer);
    }
    assert.equal(given.slice(-ids.length * 3).filter(([, answer]) => answer === undefined).length, 0);
    await Promise.all(processes.map((one) => one.claims.stop()));
  });

  test('the claim of a process that is away is waited for, not passed over', async () => {
    const [dead, other] = [new Process(), new Process()];
    const id = randomUUID();
    assert.equal(await request(dead, id, 'dies after'), undefined);
    await assert.rejects(other.claims.claim(id, 'body'), (error) => error instanceof Problem);
    await dead.restart();
    assert.deepEqual(await request(other, id, 'answers'), dead.stored.get(id)?.answer);
    assert.equal(other.stored.size, 0);
    await Promise.all([dead, other].map((one) => one.claims.stop()));
  });

  test('the claim of a process that was fenced is passed over, until that has told its answer', async () => {
    const [dead, other] = [new Process(), new Process()];
    const [lost, kept] = [randomUUID(), randomUUID()];
    assert.equal(await request(dead, lost, 'dies before'), undefined);
    assert.equal(await request(dead, kept, 'dies after'), undefined);
    const { storage } = await sharedEngine();
    const fenced = { instance: dead.instance, id: 7, low: 0, operator: 'test' };
    await storage.insertRows('fenced_writers', [fenced]);
    assert.ok(await request(other, lost, 'answers'));
    await eventually('the answer to be told', async () => {
      const answered = await table.answeredByOthers([lost, kept], dead.instance);
      return answered.has(lost) && answered.size === 1 ? true : undefined;
    });
    // It has come back after all.
    await dead.restart();
    await dead.claims.stop();
    assert.deepEqual(await request(other, kept, 'answers'), dead.stored.get(kept)?.answer);
    assert.deepEqual([...(await table.answeredByOthers([lost, kept], other.instance))], [kept]);
    await other.claims.stop();
  });

  test('what a process remembered before it shared its engine is told the others', async () => {
    const [old, young] = [new Process(), new Process()];
    const id = randomUUID();
    const answer = old.store(id, 'body', 7);
    await old.claims.shareOwn(() => old.stored.values());
    await old.claims.stop();
    assert.deepEqual(await request(young, id, 'answers'), answer);
    await young.claims.stop();
  });

  test('a start tells again only what came after the moment up to which all was told', async () => {
    const instance = randomUUID();
    let nowMs = 1_000_000;
    const entry = (at: number): Entry => ({ id: randomUUID(), body: 'body', at, answer: answerOf(1) });
    const answered = Array.from({ length: 20 }, () => entry(nowMs));
    const put: string[] = [];
    const counting = {
      put: (...[rows]: Parameters<KeyTable['put']>) => {
        put.push(...rows.filter(({ state, answer }) => state === 3 && answer !== '').map(({ id }) => id));
        return table.put(rows);
      },
      read: (...given: Parameters<KeyTable['read']>) => table.read(...given),
      unresolved: (of: string) => table.unresolved(of),
    };
    const from = (fromMs: number): Entry[] => answered.filter(({ at }) => at >= fromMs);
    const begin = async (): Promise<KeyClaims> => {
      put.length = 0;
      const claims = new KeyClaims({ table: counting, instance, log, nowMs: () => nowMs });
      await claims.shareOwn(from);
      return claims;
    };
    const first = await begin();
    assert.equal(put.length, 20, 'all, as the table has nothing of this process');
    nowMs += 1_000;
    const open = await first.claim(randomUUID(), 'body');
    const openEntry = entry(nowMs);
    answered.push(openEntry);
    nowMs += 1_000;
    const done = await first.claim(randomUUID(), 'body');
    if (done.kind === 'held') done.answered(answerOf(1));
    await eventually('the mark to be there', async () => (await table.read([`told ${instance}`]))[0]);
    await first.stop();
    assert.equal(open.kind, 'held');
    nowMs += 1_000;
    const second = await begin();
    assert.deepEqual(put, [openEntry.id], 'the claim of it had no end when that was told');
    await second.stop();
    const reads = await table.read([openEntry.id]);
    assert.equal(reads.length, 1);
    await (await begin()).stop();
    assert.equal((await table.read([openEntry.id])).length, 1, 'told twice it is one row');
  });

  test('nothing is left untold for good, however much waits to be told', async () => {
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const rows = new Map<string, KeyRow>();
    const [own, gone] = [randomUUID(), randomUUID()];
    const left = (id: string): KeyRow => {
      return { id, claim: id, instance: gone, state: 1, sent: 'body', answer: '' };
    };
    const waiting = Array.from({ length: limits.keyOutboxMax + 1 }, (_, n) => left(`${n}`));
    const memory = {
      async put(put: readonly KeyRow[]) {
        await opened;
        for (const row of put) rows.set(row.id, row);
      },
      read: async (ids: readonly string[]) => ids.flatMap((id) => rows.get(id) ?? []),
      unresolved: async (instance: string) => (instance === own ? [left('first')] : waiting),
    };
    const known = { id: 'known', body: 'body', at: 1, answer: answerOf(1) };
    const mine = { ...known, id: 'mine' };
    const claims = new KeyClaims({ table: memory, instance: own, log });
    await claims.resolveOwn(() => undefined);
    const told = Promise.all([claims.shareOwn(() => [mine]), claims.share(gone, () => [known])]);
    await sleep(0);
    await claims.resolve(gone, () => undefined);
    open();
    await told;
    await eventually('the last to be told', async () => rows.get(`${limits.keyOutboxMax}`));
    await claims.stop();
    assert.equal(rows.has(known.id), true, 'whoever waits for it removes the files that it is in');
    assert.equal(rows.has('0'), false, 'it was too much');
    assert.equal(rows.has(`told ${own}`), false, 'the next start tells what was too much');
  });

  test('without an answer of the engine the own memory has to do, and the others are told later', async () => {
    let isAway = true;
    let isHanging = false;
    let isSlow = false;
    const failing = {
      put: async (...given: Parameters<KeyTable['put']>) => {
        if (isAway && isHanging) await sleep(5_000);
        if (isSlow) await sleep(1_200);
        return isAway ? Promise.reject(new Error('away')) : table.put(...given);
      },
      read: async (...given: Parameters<KeyTable['read']>) =>
        isAway ? Promise.reject(new Error('away')) : table.read(...given),
      unresolved: (instance: string) => table.unresolved(instance),
    };
    const alone = new KeyClaims({ table: failing, instance: randomUUID(), log });
    const id = randomUUID();
    const claim = await alone.claim(id, 'body');
    assert.equal(claim.kind, 'held');
    const again = performance.now();
    assert.equal((await alone.claim(randomUUID(), 'body')).kind, 'held');
    assert.ok(performance.now() - again < 1500, 'each request waits for an engine that is away');
    isHanging = true;
    await sleep(limits.keyRetryMs);
    const hanging = performance.now();
    assert.equal((await alone.claim(randomUUID(), 'body')).kind, 'held');
    assert.ok(performance.now() - hanging < 4000, 'an engine that is away and hangs is waited for');
    await sleep(5_000);
    [isAway, isSlow] = [false, true];
    assert.equal((await alone.claim(randomUUID(), 'body')).kind, 'held');
    await sleep(limits.keyRetryMs);
    const [other, known] = [new Process(), randomUUID()];
    await request(other, known, 'answers');
    const slow = await alone.claim(known, 'body');
    assert.equal(slow.kind, 'answered', 'one that is slow and answers is not away');
    if (claim.kind === 'held') claim.answered(answerOf(3));
    await alone.stop();
    assert.deepEqual(await request(other, id, 'answers'), answerOf(3));
    await other.claims.stop();
  });

  test('an engine that is away for a moment is asked again also for a body of which nothing is stored', async () => {
    const [first, id] = [new Process(), randomUUID()];
    const answer = await request(first, id, 'answers');
    await first.claims.stop();
    // As long as an engine takes that was killed on a busy machine.
    const backMs = performance.now() + 3_000;
    const restarting = {
      put: (...given: Parameters<KeyTable['put']>) => table.put(...given),
      read: async (...given: Parameters<KeyTable['read']>) => {
        if (performance.now() < backMs) throw new Error('away');
        return table.read(...given);
      },
      unresolved: (instance: string) => table.unresolved(instance),
    };
    const claims = new KeyClaims({ table: restarting, instance: randomUUID(), log });
    assert.deepEqual((await claims.answered(id))?.answer, answer);
    assert.equal((await claims.claim(id, 'body')).kind, 'answered');
    await claims.stop();
  });

  test('an engine whose clock has jumped ahead forgets no answer', async () => {
    const { storage } = await sharedEngine();
    const [id, dayMs] = [randomUUID(), 86_400_000];
    // To an engine that is 60 days ahead an answer of now is as old as this one.
    const told = { id, claim: randomUUID(), instance: randomUUID(), state: 3, sent: 'body', answer: '{}' };
    const row = { ...told, at: new Date(Date.now() - 60 * dayMs).toISOString().replace('Z', '') };
    await storage.insertRows('idempotency_keys', [row]);
    await storage.command('OPTIMIZE TABLE idempotency_keys FINAL');
    const certain = new KeyTable(storage, () => Date.now() - 60 * dayMs);
    await certain.forget();
    assert.equal((await certain.read([id])).length, 1);
    assert.equal((await table.read([id])).length, 0);
    await table.forget();
    await eventually(
      'what is over to be removed',
      async () => (await certain.read([id])).length === 0 || undefined,
    );
  });

  test('an engine whose clock was set back knows what it was told since, and keeps it', async () => {
    const { storage } = await sharedEngine();
    const [id, dayMs] = [randomUUID(), 86_400_000];
    // What it dates now is 60 days old by the time that has passed for certain.
    const certain = new KeyTable(storage, () => Date.now() + 60 * dayMs);
    const told = {
      claim: randomUUID(),
      instance: randomUUID(),
      state: 3,
      sent: 'body',
      answer: '{}',
    } as const;
    await certain.put([{ id, ...told }]);
    const over = {
      id: randomUUID(),
      ...told,
      at: new Date(Date.now() - 90 * dayMs).toISOString().slice(0, -1),
    };
    await storage.insertRows('idempotency_keys', [over]);
    await certain.forget();
    assert.deepEqual(await certain.read([id, over.id]), [{ id, ...told }]);
  });
});

test('who has waited in vain is left out of what is asked next', async () => {
  let end = (): void => undefined;
  const asked: number[][] = [];
  const gathered = new Gathered<number, number>(10, async (items) => {
    asked.push([...items]);
    await new Promise<void>((resolve) => (end = resolve));
    return items;
  });
  const unending = new AbortController().signal;
  const first = gathered.run(1, unending);
  void gathered.run(2, AbortSignal.abort());
  const third = gathered.run(3, unending);
  end();
  assert.equal(await first, 1);
  await eventually('the next to be asked', async () => asked.length === 2 || undefined);
  end();
  assert.equal(await third, 3);
  assert.deepEqual(asked, [[1], [3]]);
});
