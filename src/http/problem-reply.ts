import { EngineError } from '../base/errors/engine-error.ts';
import { Problem, problemTable } from '../base/errors/problem.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { Schemas } from '../contract/document.ts';
import { stringify } from '../contract/stringify.ts';
import { limits } from './limits.ts';
import type { ProblemForm, RequestHead } from './request.ts';
import { type FixedReply, jsonLine } from './response.ts';

/** Default; protocols may have their own format (contract: Errors). */
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

/** The client gets a Problem's message; of any other error only the request id (contract: Errors). */
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
    log.error(facts, 'A request failed');
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

export function changesSomething({ method }: Pick<RequestHead, 'method'>): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/** `changing`: the request was a change. The cause goes only to the operational log (contract: Errors). */
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
    // Waiting does not help: an operator must act.
    const detail =
      'Some stored audit records are damaged and cannot be read; a retry does not help. ' +
      'The operator has been notified.';
    return new Problem('internal', detail, { cause: error });
  }
  return new Problem('internal', 'The audit records could not be retrieved; try again later.', options);
}
