/**
 * The slug that a request's host names: `acme` of `acme.audit.example:8443` where the tenant domain is
 * `audit.example`; undefined on any other host, and where no tenant domain is configured (contract: Hosts).
 */
export function slugOfHost(host: string | undefined, tenantDomain: string | undefined): string | undefined {
  if (tenantDomain === undefined || host === undefined) return undefined;
  const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
  const suffix = `.${tenantDomain}`;
  return name.endsWith(suffix) && name.length > suffix.length ? name.slice(0, -suffix.length) : undefined;
}
