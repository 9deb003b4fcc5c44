import { foldEmail } from '../control/email-address.ts';
import type { Organization } from '../control/organizations.ts';
import type { Attempt } from '../control/password-throttle.ts';
import type { User } from '../control/users.ts';
import { clientOfAddress } from './client-address.ts';
import type { EndpointDeps } from './deps.ts';
import type { RequestContext } from './request-context.ts';
import { isHostOf, slugOfHost } from './tenant-host.ts';

/**
 * `signedIn`: the account's user, if the request has its session. Ignores the organization in the body, or one account would have
 * two counts.
 */
export function passwordAttempt(
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

export interface Candidate {
  readonly user: User;
  readonly organization: Organization;
}

/** Users with the address in the organizations that the host allows: one count of failures. */
export function usersOfAddress(
  { config, directory }: Pick<EndpointDeps, 'config' | 'directory'>,
  context: RequestContext,
  email: string,
): Candidate[] {
  return directory.usersByEmail(foldEmail(email)).flatMap((user) => {
    const organization = directory.organizationById(user.organizationId);
    const isHere = organization && isHostOf(organization.slug, context.header('host'), config.tenantDomain);
    return isHere === true ? [{ user, organization }] : [];
  });
}

/** False is answered as a wrong password, after the same work. */
export function mayUsePassword(
  { directory }: Pick<EndpointDeps, 'directory'>,
  { user, organization }: Candidate,
): boolean {
  return user.disabledMicros === undefined && directory.signOnOf(organization.id).passwords;
}
