import { buffers } from '../base/buffer-pool.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { limits } from './limits.ts';
import { frameOf, loneTask, outcomeOf, type TaskFacts } from './map-tasks.ts';
import type { WorkerPool } from './pool.ts';
import { RejectionCounts } from './rejections.ts';
import { type MappedRequest, errorsMaxOf, type IngestRequest } from './request.ts';
import { type Answered, type MapResult, type Outcome, type RequestKind, tooManyEvents } from './task.ts';

export interface LargeBodiesOptions {
  readonly pool: WorkerPool;
  readonly facts: TaskFacts;
}

/**
 * Bodies that are too large, or may be once they are decompressed, to share a task with others. Organizations take
 * turns, so one that sends many waits for itself; and what is worked on at once, and so in memory, is bounded.
 */
export class LargeBodies {
  readonly #pool: WorkerPool;
  readonly #facts: TaskFacts;
  readonly #turns: FairQueue;

  constructor({ pool, facts }: LargeBodiesOptions) {
    this.#pool = pool;
    this.#facts = facts;
    const slotsPerOrganization = pool.threads + limits.largeBodiesBeyondThreads;
    this.#turns = new FairQueue({
      slotsPerOrganization,
      slots: slotsPerOrganization * limits.largeBodyOrganizationsMax,
      waitingPerOrganization: limits.largeBodiesWaitingPerOrganizationMax,
      waiting: limits.largeBodiesWaitingMax,
      waitMs: limits.largeBodyWaitMsMax,
      refusal: 'Too many large batches are waiting; try again later.',
      retryAfterSeconds: 1,
    });
  }

  /** Maps a body; `turn` names whose turn it takes. Rejects with a Problem: 429, or what the pool says. */
  async map(request: IngestRequest, turn: string): Promise<MappedRequest> {
    const leave = await this.#turns.acquire(turn);
    try {
      const isWhole = request.encoding === 'identity' && request.body.length <= limits.splitBytesMin;
      return await (isWhole ? this.#whole(request) : this.#divided(request));
    } finally {
      leave();
    }
  }

  async #whole(request: IngestRequest): Promise<MappedRequest> {
    const { body, form } = request;
    const isHashed = request.idempotency !== undefined;
    const result = await this.#pool.map(loneTask(this.#facts, body, kindOf(request, form, isHashed)));
    if (result.input) buffers.give(result.input);
    return doneOf([result], outcomeOf(result, 0));
  }

  /**
   * As many of its pieces are with the workers at once as there are threads: a body uses all of them, and what came
   * after it is served between its pieces.
   */
  async #divided(request: IngestRequest): Promise<MappedRequest> {
    const split = await this.#pool.split({
      kind: 'split',
      input: request.body,
      form: request.form,
      encoding: request.encoding,
      hashed: request.idempotency !== undefined,
      bodyBytesMax: this.#facts.bodyBytesMax,
      pieceBytes: limits.pieceBytes,
    });
    buffers.give(split.input);
    const { body, pieces, form } = split;
    if ('code' in body) return { outcome: body, frames: [], release: () => undefined };
    const mapped = new MappedPieces(errorsMaxOf(request));
    let next = 0;
    const serve = async (): Promise<void> => {
      while (next < pieces.length && !mapped.isOver()) {
        const index = next++;
        const [start, end] = pieces[index] as readonly [number, number];
        const kind = { ...kindOf(request, form, false), errorsMax: mapped.errorsLeft() };
        const task = loneTask(this.#facts, body.subarray(start, end), kind, mapped.rejectedLeft());
        // A failure ends the loop of every other piece as well: nothing of the request is stored then.
        const result = await this.#pool.map(task).catch((error: unknown) => {
          next = pieces.length;
          throw error;
        });
        mapped.add(index, result);
      }
    };
    await Promise.all(Array.from({ length: this.#pool.threads }, serve));
    return doneOf(mapped.results(), mapped.outcome(split.bodyHash));
  }
}

/** The pieces of one body that have been mapped, and what they leave for the others. */
class MappedPieces {
  readonly #errorsMax: number;
  readonly #results: MapResult[] = [];
  #accepted = 0;
  #rejected = 0;
  #errors = 0;
  #isRefused = false;

  constructor(errorsMax: number) {
    this.#errorsMax = errorsMax;
  }

  add(index: number, result: MapResult): void {
    this.#results[index] = result;
    const outcome = outcomeOf(result, 0);
    if (outcome.kind === 'problem') {
      this.#isRefused = true;
      return;
    }
    this.#accepted += outcome.answer.accepted;
    this.#rejected += outcome.answer.rejected;
    this.#errors += outcome.answer.errors.length;
  }

  /** Whether the rest of the body need not be looked at. */
  isOver(): boolean {
    const elements = this.#accepted + this.#rejected;
    return this.#isRefused || elements > limits.batchEventsMax || this.#rejected > limits.rejectedEventsMax;
  }

  rejectedLeft(): number {
    return Math.max(0, limits.rejectedEventsMax - this.#rejected);
  }

  /** Errors that may still be named; pieces begin in their order, so those that are left out come last. */
  errorsLeft(): number {
    return Math.max(0, this.#errorsMax - this.#errors);
  }

  results(): readonly MapResult[] {
    return this.#results;
  }

  /** One outcome of all pieces, in their order; a problem of one is a problem of all. */
  outcome(bodyHash: string | undefined): Outcome {
    if (this.#accepted + this.#rejected > limits.batchEventsMax) return this.#tooMany();
    const answer = { accepted: 0, rejected: 0, errors: [] as { index: number; error: string }[] };
    const rejections = new RejectionCounts();
    const whole = (isEnded: boolean): Answered => {
      return { kind: 'answered', answer, bodyHash, rejections: rejections.list(), isEnded };
    };
    for (const result of this.#results) {
      const outcome = outcomeOf(result, 0);
      if (outcome.kind === 'problem') return outcome;
      const { accepted, rejected, errors } = outcome.answer;
      const before = answer.accepted + answer.rejected;
      for (const { index, error } of errors) {
        if (answer.errors.length < this.#errorsMax) answer.errors.push({ index: before + index, error });
      }
      answer.accepted += accepted;
      answer.rejected += rejected;
      rejections.addAll(outcome.rejections);
      // It was left in the middle, so where the events of later pieces stand is not known.
      if (outcome.isEnded) return whole(true);
    }
    return whole(answer.rejected > limits.rejectedEventsMax);
  }

  #tooMany(): Outcome {
    const rejections = new RejectionCounts();
    for (const result of this.#results) {
      const outcome = outcomeOf(result, 0);
      if (outcome.kind === 'answered') rejections.addAll(outcome.rejections);
    }
    return { ...tooManyEvents, rejections: rejections.list() };
  }
}

function kindOf(request: IngestRequest, form: RequestKind['form'], isHashed: boolean): RequestKind {
  const { organization } = request;
  return { form, organization, apart: isHashed, errorsMax: errorsMaxOf(request) };
}

function doneOf(results: readonly MapResult[], outcome: Outcome): MappedRequest {
  const frames = results.flatMap((result) => result.blocks.map((block) => frameOf(result, block)));
  return {
    outcome,
    frames,
    release() {
      for (const { buffer } of results) buffers.give(buffer);
    },
  };
}
