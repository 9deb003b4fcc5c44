import type { Attempt } from '../control/password-throttle.ts';
import { clientOfAddress } from './client-address.ts';
import type { RequestContext } from './request-context.ts';
import { slugOfHost } from './tenant-host.ts';

/**
 * A request's try at the password of an account, as it is counted; `signedIn` is the account's user where the request
 * has its session. An organization in the body makes no difference, or naming it and not naming it would be two counts
 * of one account.
 */
export function attemptOf(
  context: RequestContext,
  tenantDomain: string | undefined,
  account: { readonly email: string; readonly signedIn?: { readonly id: string } },
): Attempt {
  const { email, signedIn } = account;
  return {
    scope: slugOfHost(context.header('host'), tenantDomain) ?? '',
    email,
    client: signedIn === undefined ? `address ${clientOfAddress(context.head.ip)}` : `user ${signedIn.id}`,
    signedIn: signedIn !== undefined,
    caller: context,
  };
}
