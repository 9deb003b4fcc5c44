import type { Problem } from '../base/errors/problem.ts';
import type { RequestHead } from './request.ts';

interface WordedProblem {
  readonly status: number;
  /** Media type of the body. */
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How an error is worded. */
export type ProblemForm = (problem: Problem, head: RequestHead) => WordedProblem;
