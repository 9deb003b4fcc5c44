import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import type { ApiKey, Scope } from '../control/api-keys.ts';
import { authenticateKey, authenticateKeyFresh } from '../control/authenticate-key.ts';
import type { Directory } from '../control/directory.ts';
import type { RequestContext } from './router.ts';

/** The API key of a request; rejects with 401, in the same words whatever is wrong (contract: Authentication). */
export type KeyCheck = (context: RequestContext) => ApiKey | Promise<ApiKey>;

const challenge = { 'WWW-Authenticate': 'ApiKey header="X-API-Key"' };

export function unauthorizedKey(): Problem {
  return new Problem('unauthorized', 'The X-API-Key header holds no API key that is valid here.', {
    headers: challenge,
  });
}

export function hasScope(key: ApiKey, scope: Scope): boolean {
  return key.scopes.includes(scope);
}

/** Answers at once for a key that is known and good; only a failure takes the time of a look at the engine. */
export function createKeyCheck(directory: Directory, clock: Clock): KeyCheck {
  return (context) => {
    const presented = context.header('x-api-key');
    return authenticateKey(directory, presented, clock()) ?? checkAgain(presented);
  };

  async function checkAgain(presented: string | undefined): Promise<ApiKey> {
    const key = await authenticateKeyFresh(directory, presented, clock);
    if (key === undefined) throw unauthorizedKey();
    return key;
  }
}
