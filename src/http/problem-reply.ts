import { EngineError } from '../base/errors/engine-error.ts';
import { Problem, problemTable } from '../base/errors/problem.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { Schemas } from '../contract/document.ts';
import { stringify } from '../contract/stringify.ts';
import { limits } from './limits.ts';
import type { ProblemForm, RequestHead } from './request.ts';
import { type FixedReply, jsonLine } from './response.ts';

/** The form of every error but those of protocols that have one of their own (contract: Errors). */
export const problemDocument: ProblemForm = (problem, { requestId }) => {
  const { status, title } = problemTable[problem.code];
  const document: Schemas['Problem'] = {
    ...problem.options.members,
    type: 'about:blank',
    title,
    status,
    detail: problem.message,
    request_id: requestId,
  };
  return { status, type: 'application/problem+json', body: jsonLine(stringify('Problem', document)) };
};

/**
 * The answer to anything thrown (contract: Errors): a Problem says what the client may read; of any other error the
 * client learns nothing but the request id, under which the operational log has it.
 */
export function problemReply(
  error: unknown,
  head: RequestHead,
  log: Logger,
  form: ProblemForm = problemDocument,
): FixedReply {
  const problem = toProblem(error, changesSomething(head));
  const { status } = problemTable[problem.code];
  const { retryAfterSeconds, headers, cause } = problem.options;
  if (status === 500 || (status > 500 && cause !== undefined)) {
    const facts = { request_id: head.requestId, status, ...errorFacts(cause ?? problem) };
    log.error(facts, 'a request could not be answered');
  }
  const { type, headers: more, ...worded } = form(problem, head);
  return {
    ...worded,
    headers: {
      ...headers,
      ...(retryAfterSeconds === undefined
        ? {}
        : { 'Retry-After': String(Math.max(0, Math.ceil(retryAfterSeconds))) }),
      ...more,
      'Content-Type': type,
    },
  };
}

/** By the method: a read fails with 500, a change with 503 (contract: Errors). */
export function changesSomething({ method }: Pick<RequestHead, 'method'>): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/**
 * What a client may read of anything thrown (contract: Errors); the cause is for the operational log. `changing` says
 * that the request was to change something.
 */
export function toProblem(error: unknown, changing: boolean): Problem {
  if (error instanceof Problem) return error;
  if (!(error instanceof EngineError)) {
    return new Problem('internal', 'The server could not process the request.', { cause: error });
  }
  const options = { retryAfterSeconds: limits.engineRetryAfterSeconds, cause: error };
  if (changing) {
    return new Problem('unavailable', 'The change could not be stored; try again later.', options);
  }
  if (error.damagedPart !== undefined) {
    // Nothing to wait for: only the operator can help.
    const detail =
      'Some of the stored audit records are damaged and cannot be read; trying again does not help. ' +
      'The operator of the service has been told.';
    return new Problem('internal', detail, { cause: error });
  }
  return new Problem('internal', 'The audit records could not be retrieved; try again later.', options);
}
