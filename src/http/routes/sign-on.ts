import { Problem } from '../../base/errors/problem.ts';
import { defaultSignOn } from '../../control/default-sign-on.ts';
import type { EndpointDeps } from '../deps.ts';
import { problemDocument } from '../problem-reply.ts';
import type { ProblemForm, RequestHead } from '../request.ts';
import { jsonReply, seeOther } from '../response.ts';
import type { Handler } from '../router.ts';
import { attemptCookie } from '../session-cookie.ts';
import { signIns } from '../sign-in-metrics.ts';
import { meantOrganization, nameOfProvider, redirectUri } from '../sign-on-address.ts';
import { newAttempt } from '../../sign-on/attempt.ts';
import { limits } from '../../sign-on/limits.ts';

const returnCharactersMax = 1_000;

export function signOnHandler(deps: EndpointDeps): Handler {
  const { attempts, config, directory, providers } = deps;
  return async (context) => {
    const meant = meantOrganization(deps, context);
    const settings = meant.kind === 'one' ? directory.signOnOf(meant.organization.id) : undefined;
    if (meant.kind !== 'one' || settings === undefined || !providers.isThere(settings)) throw notThere();
    const { organization } = meant;
    const attempt = newAttempt({
      organizationId: organization.id,
      returnTo: pagePath(context.first('return')),
      redirectUri: redirectUri(context, config, organization, nameOfProvider(settings, organization)),
    });
    try {
      const location = await providers.of(settings)?.begin(attempt, settings.scopes);
      if (location === undefined) throw notThere();
      const cookie = attemptCookie(config.serviceName, context);
      const sealed = await attempts.seal(attempt);
      const maxAgeSeconds = limits.attemptMs / 1000;
      return seeOther(location.href, { 'Set-Cookie': cookie.set(context, sealed, maxAgeSeconds) });
    } catch (error) {
      signIns.inc({ way: 'openid_connect', outcome: 'not_begun' });
      throw error;
    }
  };
}

function notThere(): Problem {
  const detail =
    'Name your organization: there is none of this name here whose people sign in by a provider.';
  return new Problem('unauthorized', detail, { members: { sign_on: 'organization' } });
}

/** Never another site. */
function pagePath(text = ''): string {
  return text.length <= returnCharactersMax && /^\/#\/[!-~]*$/.test(text) ? text : '/';
}

/** An unknown organization gets the answer of one without settings (contract: Sessions). */
export function signOnOptionsHandler(deps: EndpointDeps): Handler {
  const { directory, providers } = deps;
  return (context) => {
    const meant = meantOrganization(deps, context);
    if (meant.kind === 'unnamed') {
      const isThere = meant.count > 0;
      return jsonReply(200, 'SignOnOptions', {
        sign_on: isThere,
        passwords: true,
        names_organization: isThere,
      });
    }
    const settings = meant.kind === 'one' ? directory.signOnOf(meant.organization.id) : defaultSignOn('');
    const { passwords } = settings;
    const answer = { sign_on: providers.isThere(settings), passwords, names_organization: false };
    return jsonReply(200, 'SignOnOptions', answer);
  };
}

/**
 * The page has the words, in the user's language, and receives only an error code and the request id. Programs get a problem
 * document.
 */
export const signOnForm: ProblemForm = (problem, head) => {
  if (!wantsPage(head)) return problemDocument(problem, head);
  const { code, options } = problem;
  const known = options.members?.['sign_on'];
  const other = code === 'rate_limited' ? 'often' : 'failed';
  const fault = typeof known === 'string' ? known : other;
  const query = new URLSearchParams({ fault, reference: head.requestId }).toString();
  return {
    status: 303,
    type: 'text/plain; charset=utf-8',
    body: '',
    headers: { Location: `/#/sign-in?${query}` },
  };
};

function wantsPage({ headers }: RequestHead): boolean {
  return (headers.get('accept') ?? '').toLowerCase().includes('text/html');
}
