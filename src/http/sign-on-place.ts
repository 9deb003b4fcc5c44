import { Problem } from '../base/errors/problem.ts';
import type { Organization } from '../control/organizations.ts';
import type { SignOnSettings } from '../control/sign-on-settings.ts';
import type { EndpointDeps } from './deps.ts';
import type { RequestContext } from './request-context.ts';
import { slugOfHost } from './tenant-host.ts';

type PlaceDeps = Pick<EndpointDeps, 'config' | 'directory' | 'providers'>;

/** What a request says of the organization that somebody wants to sign in to. */
export type Meant =
  | { readonly kind: 'one'; readonly organization: Organization }
  /** It names none, and there are several, or none at all. */
  | { readonly kind: 'unnamed'; readonly count: number }
  /** It names one that is not there, or not on this host. */
  | { readonly kind: 'unknown' };

/** By its host, its parameter `organization`, or as the only one whose people sign in by a provider. */
export function meantOrganization(
  { config, directory, providers }: PlaceDeps,
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

/** Stands for the service's provider, which organizations without one of their own share. */
const serviceName = '_service';

/**
 * What the way back from a provider ends with. Different providers have different ones, so what one of them sends can never
 * pass for an answer of another (RFC 9700, mix-up).
 */
export function nameOfProvider({ provider }: SignOnSettings, { slug }: Organization): string {
  return provider === 'own' ? slug : serviceName;
}

const thisMachine = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * Where browsers reach an organization: at its own host, at PUBLIC_URL, or on this machine; never at a host that only the request
 * names. Undefined where none is known.
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

/**
 * The way back from a provider. Throws Problem `unavailable` where no address is known, and
 * `malformed` where Host is none.
 */
export function redirectUri(
  context: RequestContext,
  config: Pick<EndpointDeps['config'], 'tenantDomain' | 'publicUrl'>,
  organization: Organization,
  provider: string,
): string {
  const address = publicAddress(context, config, organization.slug);
  const path = `/api/v1/auth/sign-on/callback/${provider}`;
  if (address !== undefined)
    return address === config.publicUrl ? `${address}${path}` : addressOf(`${address}${path}`);
  throw new Problem('unavailable', 'The operator of the service has not said where browsers reach it.', {
    members: { sign_on: 'provider' },
    cause: new Error('PUBLIC_URL is not set, nor TENANT_DOMAIN: sign-on by a provider needs one of them'),
  });
}

/** Throws Problem `malformed` where the request's Host has made none of it: by a port that there is not. */
function addressOf(text: string): string {
  if (URL.canParse(text)) return new URL(text).href;
  throw new Problem('malformed', 'Host is not the name of a host.');
}
