import { EngineError } from '../base/errors/engine-error.ts';
import { Problem } from '../base/errors/problem.ts';
import { limits } from './limits.ts';

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
