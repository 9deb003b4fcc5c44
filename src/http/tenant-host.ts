/**
 * `acme` of `acme.audit.example:8443` with the tenant domain `audit.example`; undefined for other hosts (contract: Hosts).
 * Ignores case, port and one trailing dot.
 */
export function slugOfHost(host: string | undefined, tenantDomain: string | undefined): string | undefined {
  if (tenantDomain === undefined || host === undefined) return undefined;
  const name = /^([a-z0-9.-]+?)\.?(?::\d*)?$/i.exec(host)?.[1]?.toLowerCase() ?? '';
  const suffix = `.${tenantDomain}`;
  return name.endsWith(suffix) && name.length > suffix.length ? name.slice(0, -suffix.length) : undefined;
}

/** Without a tenant domain every host belongs to every organization. */
export function isHostOf(slug: string, host: string | undefined, tenantDomain: string | undefined): boolean {
  return tenantDomain === undefined || slugOfHost(host, tenantDomain) === slug;
}
