import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { Problem } from '../base/errors/problem.ts';
import { errorCode } from '../base/errors/system-error.ts';
import { limits } from './limits.ts';

/** `declined`: by the person or the provider; `invalid`: bad data came back; `provider`: no proper answer. */
type ProviderFault = 'declined' | 'invalid' | 'provider';

/** The cause is for the log, with nothing of the provider but its error code. */
export class ProviderFailed extends Problem {
  readonly reason: ProviderFault;

  constructor(reason: ProviderFault, detail: string, cause?: Error) {
    super(reason === 'provider' ? 'unavailable' : 'unauthorized', detail, {
      members: { sign_on: reason },
      cause,
      ...(reason === 'provider' && { retryAfterSeconds: limits.providerMsMax / 1000 }),
    });
    this.reason = reason;
  }
}

const words: Readonly<Record<ProviderFault, string>> = {
  declined: 'The identity provider of your organization refused the sign-in.',
  invalid: "The answer of your organization's identity provider is invalid or has expired; sign in again.",
  provider:
    'The identity provider of your organization cannot be reached or answers incorrectly; try again later.',
};

/** Codes of openid-client for no answer, or a malformed one. */
const noAnswer = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
]);

export function unavailable(error: unknown): ProviderFailed {
  if (error instanceof ProviderFailed) return error;
  return new ProviderFailed('provider', words.provider, new Error(harmless(error)));
}

export function toFailure(error: unknown): ProviderFailed {
  if (error instanceof ProviderFailed) return error;
  const reason = classify(error);
  return new ProviderFailed(reason, words[reason], new Error(harmless(error)));
}

function classify(error: unknown): ProviderFault {
  if (error instanceof AuthorizationResponseError)
    return ['server_error', 'temporarily_unavailable'].includes(error.error) ? 'provider' : 'declined';
  // Any other refusal of a code means an unknown client, which the operator must see.
  if (error instanceof ResponseBodyError) return error.error === 'invalid_grant' ? 'invalid' : 'provider';
  return error instanceof ClientError && !noAnswer.has(error.code ?? '') ? 'invalid' : 'provider';
}

/** The library's messages and codes, never its cause, which has tokens. */
function harmless(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { cause, message } = error;
  const reported = 'error' in error && typeof error.error === 'string' ? error.error : '';
  const code = errorCode(error) ?? errorCode(cause) ?? '';
  const safe = [code, reported].filter((text) => /^[A-Za-z_]{1,64}$/.test(text));
  return [message, ...safe].join(', ');
}
