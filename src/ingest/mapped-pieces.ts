import { limits } from './limits.ts';
import { type Rejection, RejectionCounts } from './rejections.ts';
import { tooManyEvents } from './refusals.ts';
import { type MapResult, type Outcome, outcomeOf, outputBytesOf } from './task.ts';

const growthMargin = 1.1;

export class MappedPieces {
  readonly #errorsMax: number;
  readonly #results: MapResult[] = [];
  readonly #counts = { accepted: 0, rejected: 0, errors: 0 };
  #isRefused = false;
  #growth = 0;

  constructor(errorsMax: number) {
    this.#errorsMax = errorsMax;
  }

  add(index: number, result: MapResult, inputBytes: number): void {
    this.#results[index] = result;
    const last = result.blocks.at(-1);
    if (last !== undefined) this.#growth = Math.max(this.#growth, (last.offset + last.length) / inputBytes);
    const outcome = outcomeOf(result, 0);
    if (outcome.kind === 'problem') {
      this.#isRefused = true;
      return;
    }
    this.#counts.accepted += outcome.answer.accepted;
    this.#counts.rejected += outcome.answer.rejected;
    this.#counts.errors += outcome.answer.errors.length;
  }

  isOver(): boolean {
    return this.#isRefused || this.#hasTooMany() || this.#counts.rejected > limits.rejectedEventsMax;
  }

  /** Pieces of a body are alike, so after the first no buffer has to grow. */
  outputBytes(inputBytes: number): number {
    return Math.ceil(Math.max(outputBytesOf(inputBytes), inputBytes * this.#growth * growthMargin));
  }

  rejectedLeft(): number {
    return Math.max(0, limits.rejectedEventsMax - this.#counts.rejected);
  }

  errorsLeft(): number {
    return Math.max(0, this.#errorsMax - this.#counts.errors);
  }

  results(): readonly MapResult[] {
    return this.#results;
  }

  /** One outcome of all pieces, in order; a problem of one is a problem of all. */
  outcome(bodyHash: string | undefined): Outcome {
    if (this.#hasTooMany()) return { ...tooManyEvents, rejections: this.#rejections() };
    const answer = { accepted: 0, rejected: 0, errors: [] as { index: number; error: string }[] };
    const counts = new RejectionCounts();
    let hasTooManyRejected = false;
    for (const result of this.#results) {
      const outcome = outcomeOf(result, 0);
      if (outcome.kind === 'problem') return outcome;
      const { accepted, rejected, errors } = outcome.answer;
      const before = answer.accepted + answer.rejected;
      const left = this.#errorsMax - answer.errors.length;
      for (const { index, error } of errors.slice(0, left))
        answer.errors.push({ index: before + index, error });
      answer.accepted += accepted;
      answer.rejected += rejected;
      counts.addAll(outcome.rejections);
      hasTooManyRejected = outcome.hasTooManyRejected || answer.rejected > limits.rejectedEventsMax;
      // The worker stopped in mid-piece, so later indexes are unknown.
      if (outcome.hasTooManyRejected) break;
    }
    return { kind: 'answered', answer, bodyHash, rejections: counts.list(), hasTooManyRejected };
  }

  #rejections(): readonly Rejection[] {
    const counts = new RejectionCounts();
    for (const result of this.#results) counts.addAll(outcomeOf(result, 0).rejections ?? []);
    return counts.list();
  }

  #hasTooMany(): boolean {
    return this.#counts.accepted + this.#counts.rejected > limits.batchEventsMax;
  }
}
