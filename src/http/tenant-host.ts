/**
 * The slug that a request's host names: `acme` of `acme.audit.example:8443` where the tenant domain is
 * `audit.example`; undefined on any other host, and where no tenant domain is configured (contract: Hosts). Case, the
 * port and one dot at the end make no difference.
 */
export function slugOfHost(host: string | undefined, tenantDomain: string | undefined): string | undefined {
  if (tenantDomain === undefined || host === undefined) return undefined;
  const name = /^([a-z0-9.-]+?)\.?(?::\d*)?$/i.exec(host)?.[1]?.toLowerCase() ?? '';
  const suffix = `.${tenantDomain}`;
  return name.endsWith(suffix) && name.length > suffix.length ? name.slice(0, -suffix.length) : undefined;
}

/** Whether a host is the one of an organization; where no tenant domain is configured, each host is. */
export function isHostOf(slug: string, host: string | undefined, tenantDomain: string | undefined): boolean {
  return tenantDomain === undefined || slugOfHost(host, tenantDomain) === slug;
}
