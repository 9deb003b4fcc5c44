import { Problem } from '../../base/errors/problem.ts';
import { newAttempt } from '../../sign-on/attempt.ts';
import { limits } from '../../sign-on/limits.ts';
import type { EndpointDeps } from '../deps.ts';
import { seeOther } from '../response.ts';
import type { Handler } from '../router.ts';
import { attemptCookie } from '../session-cookie.ts';
import { signIns } from '../sign-in-metrics.ts';
import { meantOrganization, nameOfProvider, redirectUri } from '../sign-on-place.ts';

/** GET /api/v1/auth/sign-on: sends the browser to the provider of the organization (contract: Sessions). */
export function signOnHandler(deps: EndpointDeps): Handler {
  const { attempts, config, directory, providers } = deps;
  return async (context) => {
    const meant = meantOrganization(deps, context);
    const settings = meant.kind === 'one' ? directory.signOnOf(meant.organization.id) : undefined;
    if (meant.kind !== 'one' || settings === undefined || !providers.isThere(settings)) throw notThere();
    const { organization } = meant;
    const attempt = newAttempt({
      organizationId: organization.id,
      returnTo: pagePlace(context.first('return')),
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

/** A place of the page, or its first one: never another site. */
function pagePlace(text = ''): string {
  return text.length <= limits.returnCharactersMax && /^\/#\/[!-~]*$/.test(text) ? text : '/';
}
