import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { Problem } from '../base/errors/problem.ts';
import { errorCode } from '../base/errors/system-error.ts';
import { limits } from './limits.ts';

/** `declined`: by the person or the provider; `invalid`: bad data came back; `provider`: no proper answer. */
type ProviderFault = 'declined' | 'invalid' | 'provider';

/** The cause is for the log, with nothing from the provider but the code of its error. */
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
  declined: 'The sign-on of your organization did not let you in.',
  invalid: 'What the sign-on of your organization sent is not valid here, or not any more: begin again.',
  provider:
    'The sign-on of your organization cannot be reached, or does not answer as it should; try again later.',
};

/** Codes of openid-client that mean no answer, or one that is none. */
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

/** What became of a sign-in, of anything thrown on the way. */
export function failureOf(error: unknown): ProviderFailed {
  if (error instanceof ProviderFailed) return error;
  const reason = faultOf(error);
  return new ProviderFailed(reason, words[reason], new Error(harmless(error)));
}

function faultOf(error: unknown): ProviderFault {
  if (error instanceof AuthorizationResponseError)
    return ['server_error', 'temporarily_unavailable'].includes(error.error) ? 'provider' : 'declined';
  // Another refusal of a code means an unknown client, which the operator must see.
  if (error instanceof ResponseBodyError) return error.error === 'invalid_grant' ? 'invalid' : 'provider';
  return error instanceof ClientError && !noAnswer.has(error.code ?? '') ? 'invalid' : 'provider';
}

/** The library's words and codes, never its cause, which has tokens. */
function harmless(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { cause, message } = error;
  const said = 'error' in error && typeof error.error === 'string' ? error.error : '';
  const code = errorCode(error) ?? errorCode(cause) ?? '';
  const safe = [code, said].filter((text) => /^[A-Za-z_]{1,64}$/.test(text));
  return [message, ...safe].join(', ');
}
