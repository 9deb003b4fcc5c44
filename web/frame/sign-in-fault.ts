import type { RequestError } from '../api/request.ts';
import { t } from '../ui/text.ts';

/** Why somebody could not be signed in, in words. */
export function signInFault(error: RequestError): string {
  if (error.kind === 'offline') return t('frameOffline');
  if (error.status === 429) return t('signInTooOften', { seconds: error.retryAfterSeconds ?? 60 });
  return error.kind === 'unavailable' ? t('signInUnavailable') : t('signInWrong');
}
