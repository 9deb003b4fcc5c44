import type { Problem } from '../base/problem.ts';
import type { RequestHead } from './request.ts';
import type { ReplyHeaders } from './response.ts';

interface WordedProblem {
  readonly status: number;
  /** Media type of the body. */
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: ReplyHeaders;
}

/** How an error is worded. */
export type ProblemForm = (problem: Problem, head: RequestHead) => WordedProblem;
