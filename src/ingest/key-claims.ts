import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { counter, gauge } from '../base/observability/metrics.ts';
import { Problem } from '../base/errors/problem.ts';
import { unlessAborted, within } from '../base/waiting/within.ts';
import { Gathered } from './gathered.ts';
import type { BatchAnswer, Entry } from './answer-records.ts';
import { limits } from './limits.ts';

const states = { claimed: 1, withdrawn: 2, answered: 3 } as const;

interface Row {
  readonly id: string;
  readonly claim: string;
  readonly instance: string;
  readonly state: (typeof states)[keyof typeof states];
  readonly sent: string;
  readonly answer: string;
}

/** The claims of all processes on an engine; what was put is seen by every later read. */
interface Table {
  put(rows: readonly Row[]): Promise<void>;
  read(ids: readonly string[]): Promise<readonly Row[]>;
  unresolved(instance: string): Promise<readonly Row[]>;
}

export interface KeyClaimsOptions {
  readonly table: Table;
  /** UUID of this process that outlives a restart. */
  readonly instance: string;
  readonly log: Logger;
  /** Unix milliseconds, by which answers are dated (`Entry.at`); left out: of the clock. */
  readonly nowMs?: () => number;
}

/** What this process remembers of an id. */
type Recall = (id: string) => Entry | undefined;

/** What this process remembers of a moment (Unix milliseconds) or later. */
type EntriesFrom = (fromMs: number) => Iterable<Entry>;

/** The right to store the events of a request, to be given up in one of two ways. */
interface Held {
  readonly kind: 'held';
  answered(answer: BatchAnswer): void;
  /** Nothing was stored. */
  withdraw(): void;
}

interface Answered {
  readonly kind: 'answered';
  readonly sent: string;
  readonly answer: BatchAnswer;
}

interface Contest {
  /** Until when an outcome is waited for, and until when an engine that does not answer; of `performance.now()`. */
  readonly deadline: number;
  readonly engineDeadline: number;
  /** Another process has a claim, or had one when it was last looked. */
  hasRival: boolean;
}

/**
 * Claims on Idempotency-Keys, so that of the processes on one engine one stores the events of a key.
 *
 * Each puts down a claim of its own and looks at all claims on the key afterwards. So of two at least the later one
 * sees the other, and:
 *
 * - who sees an answer gives that;
 * - who sees a claim below its own withdraws, and waits for the outcome of the others;
 * - who sees only claims above its own waits until these are withdrawn or answered: their owner may have looked before
 *   ours was there;
 * - who sees none stores.
 *
 * Two cannot both store: the one that looked later has seen the claim of the other, which is neither withdrawn nor
 * answered while that stores; it is below, and then it has withdrawn, or above, and then it waits.
 *
 * A process that dies with a claim is waited for: its next start knows by its log whether the events are stored. Where the
 * engine does not answer, what is remembered here has to do.
 */
export class KeyClaims {
  readonly #options: KeyClaimsOptions;
  readonly #puts: Gathered<Row, undefined>;
  readonly #reads: Gathered<string, readonly Row[]>;
  readonly #stopping = new AbortController();
  readonly #unshared = counter(
    'auditlog_idempotency_unshared_total',
    'Requests with an Idempotency-Key that other processes were not asked about, as the engine did not answer',
    [],
  );
  readonly #nowMs: () => number;
  /** Claims of this run whose end the engine has not got, and when they began (Unix milliseconds), oldest first. */
  readonly #untold = new Map<string, number>();
  /** The first moment of which something will not be told before the next start. */
  #leftOutMs = Number.POSITIVE_INFINITY;
  /** Until `shareOwn` is through, anything may be untold, and no mark is set. */
  #hasSharedOwn = false;
  /** To be told the others, oldest first. */
  #outbox: Row[] = [];
  #sending: Promise<void> | undefined;
  /** The engine did not answer in time when it was last asked. */
  #isAway = false;
  /** Of `performance.now()`. */
  #asksAgainMs = 0;
  #markedMs = Number.NEGATIVE_INFINITY;

  constructor(options: KeyClaimsOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
    const { table } = options;
    this.#puts = new Gathered(limits.keyBatchMax, async (rows) => {
      await table.put(rows);
      this.#isAway = false;
      return rows.map(() => undefined);
    });
    this.#reads = new Gathered(limits.keyBatchMax, async (ids) => {
      const found = new Map<string, Row[]>(ids.map((id) => [id, []]));
      for (const row of await table.read([...found.keys()])) found.get(row.id)?.push(row);
      return ids.map((id) => found.get(id) ?? []);
    });
    const help = 'Idempotency keys whose outcome other processes have not been told yet';
    gauge('auditlog_idempotency_untold', help, [], (metric) => metric.set(this.#outbox.length));
  }

  /** Rejects with a 503 Problem when the process that has the key does not come to an end in time. */
  async claim(id: string, sent: string): Promise<Held | Answered> {
    const now = performance.now();
    let row = this.#newRow(id, sent);
    if (now < this.#asksAgainMs) return this.#unasked(row);
    const contest = {
      deadline: now + limits.keyWaitMsMax,
      engineDeadline: this.#engineDeadline(now),
      hasRival: false,
    };
    try {
      for (;;) {
        const outcome = (await this.#attempt(row, contest)) ?? (await this.#outcomeOfOthers(id, contest));
        if (outcome !== undefined) return outcome;
        row = this.#newRow(id, sent);
      }
    } catch (error) {
      if (error instanceof Problem) throw error;
      this.#goOnWithout(error);
      // Another one may be storing, or have stored: that is known, whatever the engine says now.
      if (contest.hasRival) throw this.#busy(row);
      return this.#unasked(row);
    }
  }

  /** What another process has answered to a request that stores nothing; undefined where none has, or the engine is away. */
  async answered(id: string): Promise<Answered | undefined> {
    const now = performance.now();
    if (now < this.#asksAgainMs) return undefined;
    const engineDeadline = this.#engineDeadline(now);
    try {
      return (await untilAnswered((ending) => this.#others(id, ending), { engineDeadline })).answered;
    } catch (error) {
      this.#goOnWithout(error);
      return undefined;
    }
  }

  /** Tells the others how claims of earlier runs of this process have ended. */
  resolveOwn(recall: Recall): Promise<void> {
    return this.resolve(this.#options.instance, recall);
  }

  /** The same of a process that is gone for good, whose answers are remembered here. */
  async resolve(instance: string, recall: Recall): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    for (const row of await this.#options.table.unresolved(instance)) {
      if (this.#untold.has(row.claim)) continue;
      const entry = recall(row.id);
      this.#tell(entry === undefined ? { ...row, state: states.withdrawn } : answeredRow(row, entry));
    }
  }

  /** Tells the others what this process has answered and they have not been told, and from then on how far they have been. */
  async shareOwn(entriesFrom: EntriesFrom): Promise<void> {
    await this.share(this.#options.instance, entriesFrom);
    if (!this.#stopping.signal.aborted) this.#hasSharedOwn = true;
  }

  /**
   * The same of a process that is gone for good, whose answers are remembered here. How far it has told all is a row of the
   * same table: one that is new, or another engine's, has none, and gets everything. Nothing of it waits in the outbox, which
   * leaves out what is too much: with the answers of one that is gone go the files that they are in.
   */
  async share(instance: string, entriesFrom: EntriesFrom): Promise<void> {
    const { table, instance: own } = this.#options;
    const { signal } = this.#stopping;
    const toldMs = (await table.read([markIdOf(instance)])).map(({ sent }) => Number(sent));
    let rows: Row[] = [];
    for (const entry of entriesFrom(Math.max(0, ...toldMs))) {
      if (signal.aborted) return;
      rows.push(answeredRow({ id: entry.id, claim: sharedClaimOf(entry.id), instance: own }, entry));
      if (rows.length < limits.keyTellMax) continue;
      await this.#put(rows);
      rows = [];
    }
    if (rows.length > 0) await this.#put(rows);
  }

  /** Waits, until this is stopped at the latest. */
  async pause(ms: number): Promise<void> {
    const { signal } = this.#stopping;
    await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
  }

  /** Tells what is left, if the engine takes it at once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#sending;
    if (this.#outbox.length === 0) return;
    await this.#options.table.put(this.#outbox.splice(0, limits.keyTellMax)).catch((error: unknown) => {
      this.#options.log.warn(
        errorFacts(error),
        'other processes do not know of all Idempotency-Keys; the next start tells them',
      );
    });
  }

  #engineDeadline(now: number): number {
    return now + (this.#isAway ? limits.keyEngineAwayMsMax : limits.keyEngineMsMax);
  }

  /** Without the engine, which is asked again after a while. */
  #goOnWithout(error: unknown): void {
    const words = 'other processes cannot be asked about Idempotency-Keys: the engine does not answer';
    this.#options.log.warn(errorFacts(error), words);
    this.#isAway = true;
    this.#asksAgainMs = performance.now() + limits.keyRetryMs;
  }

  #newRow(id: string, sent: string): Row {
    const { instance } = this.#options;
    const claim = randomUUID();
    this.#untold.set(claim, this.#nowMs());
    return { id, claim, instance, state: states.claimed, sent, answer: '' };
  }

  /** Undefined when another claim comes first, and this one is withdrawn. */
  async #attempt(row: Row, contest: Contest): Promise<Held | Answered | undefined> {
    await untilAnswered((ending) => this.#puts.run(row, ending), contest);
    for (let pauseMs: number = limits.keyPollMsMin; ; pauseMs = await pause(pauseMs)) {
      const { answered, rivals } = await untilAnswered((ending) => this.#others(row.id, ending), contest);
      if (answered !== undefined) {
        this.#tell({ ...row, state: states.withdrawn });
        return answered;
      }
      if (rivals.length === 0) return this.#held(row);
      contest.hasRival = true;
      if (rivals.some(({ claim }) => claim < row.claim)) {
        this.#tell({ ...row, state: states.withdrawn });
        return undefined;
      }
      if (performance.now() > contest.deadline) throw this.#busy(row);
    }
  }

  /** The answer of another process; undefined when none has the id any more. */
  async #outcomeOfOthers(id: string, contest: Contest): Promise<Answered | undefined> {
    for (let pauseMs: number = limits.keyPollMsMin; ; pauseMs = await pause(pauseMs)) {
      const { answered, rivals } = await untilAnswered((ending) => this.#others(id, ending), contest);
      contest.hasRival = rivals.length > 0;
      if (answered !== undefined || !contest.hasRival) return answered;
      if (performance.now() > contest.deadline) throw this.#busy();
    }
  }

  /** What other processes have to do with an id. Claims of this one that died are resolved by `resolve`. */
  async #others(
    id: string,
    ending: AbortSignal,
  ): Promise<{ answered: Answered | undefined; rivals: readonly Row[] }> {
    const rows = await this.#reads.run(id, ending);
    this.#isAway = false;
    const found = rows.find(({ state }) => state === states.answered);
    const answered = found && {
      kind: 'answered' as const,
      sent: found.sent,
      answer: JSON.parse(found.answer) as BatchAnswer,
    };
    const { instance: own } = this.#options;
    const rivals = rows.filter(({ state, instance }) => state === states.claimed && instance !== own);
    return { answered, rivals };
  }

  #busy(row?: Row): Problem {
    if (row !== undefined) this.#tell({ ...row, state: states.withdrawn });
    const detail = 'Another process is working on a request with this Idempotency-Key; try again.';
    return new Problem('unavailable', detail, { retryAfterSeconds: 1 });
  }

  #held(row: Row): Held {
    return {
      kind: 'held',
      answered: (answer) => this.#tell({ ...row, state: states.answered, answer: JSON.stringify(answer) }),
      withdraw: () => this.#tell({ ...row, state: states.withdrawn, answer: '' }),
    };
  }

  #unasked(row: Row): Held {
    this.#unshared.inc();
    return this.#held(row);
  }

  #tell(row: Row): void {
    this.#outbox.push(row);
    if (this.#outbox.length > limits.keyOutboxMax) this.#leaveOut(this.#outbox.shift());
    this.#sending ??= this.#send();
  }

  /** Nobody is told of it before the next start. */
  #leaveOut(row: Row | undefined): void {
    if (row === undefined) return;
    this.#leftOutMs = Math.min(this.#leftOutMs, this.#untold.get(row.claim) ?? 0);
    this.#untold.delete(row.claim);
  }

  /** Resolves when the engine has taken the rows, or this is stopped. */
  async #put(rows: readonly Row[]): Promise<void> {
    const { table, log } = this.#options;
    while (!this.#stopping.signal.aborted) {
      try {
        return await table.put(rows);
      } catch (error) {
        log.debug(errorFacts(error), 'other processes could not be told of Idempotency-Keys yet');
        await this.pause(limits.keyRetryMs);
      }
    }
  }

  async #send(): Promise<void> {
    const { table, log } = this.#options;
    const { signal } = this.#stopping;
    while (this.#outbox.length > 0 && !signal.aborted) {
      const batch = this.#outbox.splice(0, limits.keyTellMax);
      try {
        await table.put([...batch, ...this.#mark()]);
        for (const { claim } of batch) this.#untold.delete(claim);
      } catch (error) {
        this.#outbox = [...batch, ...this.#outbox];
        log.debug(errorFacts(error), 'other processes could not be told of Idempotency-Keys yet');
        await this.pause(limits.keyRetryMs);
      }
    }
    this.#sending = undefined;
  }

  /** Now and then the row that says up to when everything has been told. */
  #mark(): Row[] {
    const now = performance.now();
    const [oldestMs = this.#nowMs()] = this.#untold.values();
    const toldMs = this.#hasSharedOwn ? Math.min(oldestMs, this.#leftOutMs) : 0;
    if (toldMs === 0 || now - this.#markedMs < limits.keyMarkMs) return [];
    this.#markedMs = now;
    const { instance } = this.#options;
    const id = markIdOf(instance);
    return [
      { id, claim: sharedClaimOf(id), instance, state: states.answered, sent: String(toldMs), answer: '' },
    ];
  }
}

/** No digest has a space. */
function markIdOf(instance: string): string {
  return `told ${instance}`;
}

/** Told again, an answer takes the place of itself. */
function sharedClaimOf(id: string): string {
  const hex = createHash('sha256').update(id).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

const unending = new AbortController().signal;

/** An engine that is started again is back in a moment. To ask it the same again does no harm. */
async function untilAnswered<T>(
  ask: (ending: AbortSignal) => Promise<T>,
  { engineDeadline }: Pick<Contest, 'engineDeadline'>,
): Promise<T> {
  for (let pauseMs: number = limits.keyPollMsMin; ; pauseMs = await pause(pauseMs)) {
    try {
      const leftMs = Math.max(0, engineDeadline - performance.now());
      return await within(leftMs, unending, (ending) => unlessAborted(ask(ending), ending));
    } catch (error) {
      if (performance.now() > engineDeadline) throw error;
    }
  }
}

/** Resolves with how long to wait the next time. */
async function pause(forMs: number): Promise<number> {
  await sleep(forMs * (0.5 + Math.random() / 2));
  return Math.min(forMs * 2, limits.keyPollMsMax);
}

function answeredRow(row: Pick<Row, 'id' | 'claim' | 'instance'>, { body, answer }: Entry): Row {
  const { id, claim, instance } = row;
  return { id, claim, instance, state: states.answered, sent: body, answer: JSON.stringify(answer) };
}
