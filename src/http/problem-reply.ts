import { errorFacts, type Logger } from '../base/log.ts';
import { problemTable } from '../base/problem.ts';
import type { Schemas } from '../contract/document.ts';
import { stringify } from '../contract/stringify.ts';
import type { FixedReply } from './response.ts';
import { toProblem } from './to-problem.ts';

/**
 * The answer to anything thrown (contract: Errors): a Problem says what the client may read; of any other error the
 * client learns nothing but the request id, under which the operational log has it.
 */
export function problemReply(error: unknown, requestId: string, log: Logger): FixedReply {
  const problem = toProblem(error, false);
  const { status, title } = problemTable[problem.code];
  const { retryAfterSeconds, headers, members, cause } = problem.options;
  if (status === 500 || (status > 500 && cause !== undefined)) {
    const facts = { request_id: requestId, status, ...errorFacts(cause ?? problem) };
    log.error(facts, 'a request could not be answered');
  }
  const body: Schemas['Problem'] = {
    ...members,
    type: 'about:blank',
    title,
    status,
    detail: problem.message,
    request_id: requestId,
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
