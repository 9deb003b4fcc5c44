import { Problem } from '../base/errors/problem.ts';
import { limits } from './limits.ts';
import { TooManyElements } from './split-body.ts';
import type { Refused } from './task.ts';

export const tooManyEvents: Refused = {
  kind: 'problem',
  code: 'too_many_events',
  detail: `The body contains more than ${limits.batchEventsMax} events, so nothing of it was stored; send it in parts.`,
};

export const mislabelledLines: Refused = {
  kind: 'problem',
  code: 'malformed',
  detail:
    'The body is NDJSON (one JSON object a line), but its Content-Type is application/json; ' +
    'send it as application/x-ndjson.',
};

export function malformed(fault: string): Refused {
  return { kind: 'problem', code: 'malformed', detail: `The body is not acceptable JSON: ${fault}.` };
}

export function refusedBy(error: unknown): Refused {
  if (error instanceof TooManyElements) return tooManyEvents;
  if (error instanceof Problem) return { kind: 'problem', code: error.code, detail: error.message };
  throw error;
}
