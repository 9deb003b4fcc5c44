import { errorFacts, type Logger } from '../base/observability/log.ts';
import { problemTable } from '../base/errors/problem.ts';
import type { Schemas } from '../contract/document.ts';
import { stringify } from '../contract/stringify.ts';
import type { ProblemForm } from './problem-form.ts';
import type { RequestHead } from './request.ts';
import type { FixedReply } from './response.ts';
import { toProblem } from './to-problem.ts';

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
  return { status, type: 'application/problem+json', body: stringify('Problem', document) };
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
  const problem = toProblem(error, false);
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
