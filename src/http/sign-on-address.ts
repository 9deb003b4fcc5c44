import { Problem } from '../base/errors/problem.ts';
import type { Organization } from '../control/organizations.ts';
import type { SignOnSettings } from '../control/sign-on-settings.ts';
import type { EndpointDeps } from './deps.ts';
import type { RequestContext } from './request-context.ts';
import { slugOfHost } from './tenant-host.ts';

type AddressDeps = Pick<EndpointDeps, 'config' | 'directory' | 'providers'>;

export type Meant =
  | { readonly kind: 'one'; readonly organization: Organization }
  | { readonly kind: 'unnamed'; readonly count: number }
  /** The named one does not exist, or not on this host. */
  | { readonly kind: 'unknown' };

/** By host, by parameter `organization`, or as the only one with a provider. */
export function meantOrganization(
  { config, directory, providers }: AddressDeps,
  context: RequestContext,
): Meant {
  const ofHost = slugOfHost(context.header('host'), config.tenantDomain);
  const named = context.first('organization')?.trim().toLowerCase() || undefined;
  const isElsewhere = config.tenantDomain !== undefined && ofHost === undefined;
  if (isElsewhere || (ofHost !== undefined && named !== undefined && named !== ofHost))
    return { kind: 'unknown' };
  const slug = ofHost ?? named;
  if (slug !== undefined) {
    const organization = directory.organizationBySlug(slug);
    return organization === undefined ? { kind: 'unknown' } : { kind: 'one', organization };
  }
  const able = directory.organizations().filter(({ id }) => providers.isThere(directory.signOnOf(id)));
  const [organization] = able;
  return able.length === 1 && organization !== undefined
    ? { kind: 'one', organization }
    : { kind: 'unnamed', count: able.length };
}

/** Stands for the service's provider, shared by organizations without their own. */
const serviceName = '_service';

/** Each provider has its own, so that one's answer cannot pass for another's (RFC 9700, mix-up). */
export function nameOfProvider({ provider }: SignOnSettings, { slug }: Organization): string {
  return provider === 'own' ? slug : serviceName;
}

const thisMachine = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * An organization's own host, PUBLIC_URL, or this machine; never a host that only the request names. Undefined if none is known.
 */
export function publicAddress(
  context: RequestContext,
  config: Pick<EndpointDeps['config'], 'tenantDomain' | 'publicUrl'>,
  slug: string,
): string | undefined {
  const scheme = context.head.secure ? 'https' : 'http';
  const host = context.header('host') ?? '';
  if (config.tenantDomain !== undefined) {
    const port = /:\d{1,5}$/.exec(host)?.[0] ?? '';
    return `${scheme}://${slug}.${config.tenantDomain}${port}`;
  }
  if (config.publicUrl !== undefined) return config.publicUrl;
  return thisMachine.test(host) ? `${scheme}://${host}` : undefined;
}

/** Throws Problem `unavailable` if no address is known, and `malformed` for an invalid Host. */
export function redirectUri(
  context: RequestContext,
  config: Pick<EndpointDeps['config'], 'tenantDomain' | 'publicUrl'>,
  organization: Organization,
  provider: string,
): string {
  const address = publicAddress(context, config, organization.slug);
  const path = `/api/v1/auth/sign-on/callback/${provider}`;
  if (address !== undefined)
    return address === config.publicUrl ? `${address}${path}` : parseAddress(`${address}${path}`);
  throw new Problem(
    'unavailable',
    'Sign-in is not possible: the operator has not configured the public address of this service.',
    {
      members: { sign_on: 'provider' },
      cause: new Error(
        'neither PUBLIC_URL nor TENANT_DOMAIN is set; sign-on by a provider needs one of them',
      ),
    },
  );
}

/** Throws Problem `malformed` for an invalid Host, for example by its port. */
function parseAddress(text: string): string {
  if (URL.canParse(text)) return new URL(text).href;
  throw new Problem('malformed', 'The Host header is invalid.');
}
