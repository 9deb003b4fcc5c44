import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import type { ApiKey, Scope } from '../control/api-keys.ts';
import { authenticateKey, authenticateKeyFresh } from '../control/authenticate-key.ts';
import type { Directory } from '../control/directory.ts';
import type { RequestContext } from './router.ts';

/** The API key of a request, or undefined: what is wrong with it makes no difference (contract: Authentication). */
export interface KeyCheck {
  /** By what is in memory, at once. */
  readonly known: (context: RequestContext) => ApiKey | undefined;
  /** After a look at the engine, for a key made a moment ago. */
  readonly fresh: (context: RequestContext) => Promise<ApiKey | undefined>;
}

const challenge = { 'WWW-Authenticate': 'ApiKey header="X-API-Key"' };

export function unauthorizedKey(): Problem {
  return new Problem('unauthorized', 'The X-API-Key header holds no API key that is valid here.', {
    headers: challenge,
  });
}

export function hasScope(key: ApiKey, scope: Scope): boolean {
  return key.scopes.includes(scope);
}

export function createKeyCheck(directory: Directory, clock: Clock): KeyCheck {
  const presented = (context: RequestContext): string | undefined => context.header('x-api-key');
  return {
    known: (context) => authenticateKey(directory, presented(context), clock()),
    fresh: (context) => authenticateKeyFresh(directory, presented(context), clock),
  };
}
