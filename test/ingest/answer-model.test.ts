import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { BatchAnswer, Entry } from '../../src/ingest/answer-records.ts';
import type { LogFiles } from '../../src/ingest/files.ts';
import { Idempotency, sentOf } from '../../src/ingest/idempotency.ts';
import { limits } from '../../src/ingest/limits.ts';
import { silentLog } from '../support/engine.ts';
import { rounds } from '../support/rounds.ts';
import { createTornFiles } from '../support/torn-files.ts';

const hourMs = 3_600_000;
const windowMs = 24 * hourMs;
const bounds = {
  ...limits,
  idempotencyKeysMax: 20,
  idempotencyErrorsBytesMax: 2_000,
};
const keys = [...Array(30).keys()];
const bodies = ['x', 'y'].map((text) => sentOf(text, 'json'));

const isOver = ({ at }: Entry, now: number): boolean => now - at >= windowMs;

/** The answers to remember, as maps, without expired ones. */
class Model {
  #answers = new Map<string, Entry>();
  #errors = new Map<string, Entry>();

  get size(): number {
    return this.#answers.size;
  }

  add(entry: Entry, now: number): void {
    this.addErrors(entry, now);
    this.addRecord(entry, now);
  }

  addRecord(entry: Entry, now: number): void {
    if (!isOver(entry, now)) {
      this.#answers.delete(entry.id);
      this.#answers.set(entry.id, entry);
    }
    for (const [id, one] of this.#answers) {
      if (!isOver(one, now) && this.#answers.size <= 20) break;
      this.#answers.delete(id);
    }
  }

  addErrors(entry: Entry, now: number): void {
    if (entry.answer.errors.length === 0 || isOver(entry, now)) return;
    this.#errors.delete(entry.id);
    this.#errors.set(entry.id, entry);
    const bytes = (): number =>
      [...this.#errors.values()].reduce(
        (sum, { at, answer }) => sum + `${at} ${JSON.stringify(answer.errors)}`.length + 256,
        0,
      );
    for (const [id, one] of this.#errors) {
      if (!isOver(one, now) && bytes() <= 2_000) break;
      this.#errors.delete(id);
    }
  }

  recall(id: string, body: string, now: number): BatchAnswer | 'other' | undefined {
    const found = this.#answers.get(id);
    if (found === undefined || isOver(found, now)) return undefined;
    if (found.body !== body) return 'other';
    const errors = found.answer.rejected === 0 ? [] : (this.#errors.get(id)?.answer.errors ?? []);
    return { ...found.answer, errors };
  }
}

/** Successive processes on one disk: answers that are not in files come again from the log. */
class Played {
  readonly #files: LogFiles;
  #memory!: Idempotency;
  #model = new Model();
  #now = Date.UTC(2026, 3, 1, 12, 30);
  #logged: Entry[] = [];
  #kept: { entry: Entry; hour: number }[] = [];

  private constructor(files: LogFiles) {
    this.#files = files;
  }

  static async begin(): Promise<Played> {
    const { files } = createTornFiles({ cutAfter: Number.MAX_SAFE_INTEGER, random: () => 1 });
    const played = new Played(files);
    await played.restart();
    return played;
  }

  remember(key: number, body: number, errors: number): void {
    const id = this.#memory.id('k', `${key}`);
    const list = Array.from({ length: errors }, (_, index) => ({ index, error: 'e'.repeat(key) }));
    const answer = { accepted: key, rejected: errors, errors: list };
    const notes = this.#memory.notes(id, bodies[body] as string, answer);
    const entry = JSON.parse(notes) as Entry;
    this.#memory.remember(notes);
    this.#model.add(entry, this.#now);
    this.#logged.push(entry);
  }

  async keep(): Promise<void> {
    await this.#memory.keep(this.#logged.map((entry) => Buffer.from(JSON.stringify(entry))));
    const hour = Math.floor(this.#now / hourMs);
    this.#kept.push(...this.#logged.map((entry) => ({ entry, hour })));
    this.#logged = [];
  }

  wait(ms: number): void {
    this.#now += ms;
  }

  async restart(): Promise<void> {
    this.#memory = await Idempotency.open(this.#files, () => this.#now, silentLog, bounds);
    this.#model = new Model();
    this.#kept = this.#kept.filter(({ hour }) => hour >= Math.floor(this.#now / hourMs) - 25);
    for (const { entry } of this.#kept) this.#model.addErrors(entry, this.#now);
    for (const { entry } of this.#kept) this.#model.addRecord(entry, this.#now);
    for (const entry of this.#logged) {
      this.#memory.remember(JSON.stringify(entry));
      this.#model.add(entry, this.#now);
    }
  }

  check(): void {
    assert.equal(this.#memory.size, this.#model.size);
    for (const key of keys) {
      const id = this.#memory.id('k', `${key}`);
      for (const body of bodies)
        assert.deepEqual(this.#memory.recall(id, body), this.#model.recall(id, body, this.#now));
    }
  }
}

const step = fc.oneof(
  { weight: 30, arbitrary: fc.tuple(fc.constant('remember'), fc.nat(29), fc.nat(1), fc.nat(3)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('keep')) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('wait'), fc.nat(13 * hourMs)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('restart')) },
);

/** Answers that expired while they waited in the log: drawn seldom. */
const overInLog: (typeof step extends fc.Arbitrary<infer T> ? T : never)[] = [
  ['remember', 0, 0, 1],
  ['wait', 12 * hourMs],
  ['wait', 12 * hourMs],
  ['restart'],
];

test('answers are remembered as in maps, over keys, time, bounds and restarts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const played = await Played.begin();
      for (const [kind, ...given] of steps) {
        const [first = 0, second = 0, third = 0] = given as number[];
        if (kind === 'remember') played.remember(first, second, third);
        else if (kind === 'keep') await played.keep();
        else if (kind === 'wait') played.wait(first);
        else await played.restart();
        played.check();
      }
    }),
    { numRuns: rounds(60, 1_000), examples: [[overInLog]] },
  );
});
