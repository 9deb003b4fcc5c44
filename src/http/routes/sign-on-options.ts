import { defaultSignOn } from '../../control/sign-on-settings.ts';
import type { EndpointDeps } from '../deps.ts';
import { jsonReply } from '../response.ts';
import type { Handler } from '../router.ts';
import { meantOrganization } from '../sign-on-place.ts';

/**
 * GET /api/v1/auth/sign-on-options: how people sign in, for the page of somebody who has not (contract: Sessions). An
 * organization that is not there is answered as one that has said nothing.
 */
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
