import { type Logger, errorFacts } from '../base/log.ts';
import { Problem, problemTable } from '../base/problem.ts';
import type { Schemas } from '../contract/document.ts';
import { stringify } from '../contract/stringify.ts';
import type { FixedReply } from './response.ts';

export interface ProblemContext {
  readonly requestId: string;
  readonly log: Logger;
  /** Turns errors of other layers into Problems; undefined where it does not know the error. */
  readonly translateError?: ((error: unknown) => Problem | undefined) | undefined;
}

function asProblem(error: unknown, context: ProblemContext): Problem {
  if (error instanceof Problem) return error;
  const translated = context.translateError?.(error);
  if (translated !== undefined) return translated;
  return new Problem('internal', 'The server could not process the request.', { cause: error });
}

/**
 * The answer to anything thrown (contract: Errors): a Problem says what the client may read; of any other error the
 * client learns nothing but the request id, under which the operational log has it.
 */
export function problemReply(error: unknown, context: ProblemContext): FixedReply {
  const problem = asProblem(error, context);
  const { status, title } = problemTable[problem.code];
  const { retryAfterSeconds, headers, members, cause } = problem.options;
  if (status === 500 || (status > 500 && cause !== undefined)) {
    context.log.error(
      { request_id: context.requestId, status, ...errorFacts(cause ?? problem) },
      'a request could not be answered',
    );
  }
  const body: Schemas['Problem'] = {
    ...members,
    type: 'about:blank',
    title,
    status,
    detail: problem.message,
    request_id: context.requestId,
  };
  return {
    status,
    headers: {
      ...headers,
      ...(retryAfterSeconds === undefined
        ? {}
        : { 'Retry-After': String(Math.max(0, Math.ceil(retryAfterSeconds))) }),
      'Content-Type': 'application/problem+json',
    },
    body: stringify('Problem', body),
  };
}
