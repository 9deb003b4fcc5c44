import { formatRate } from '../base/time/rates.ts';
import { formatMicros, formatMicrosIfAny } from '../base/time/timestamp.ts';
import type { ApiKey, IssuedKey } from '../control/api-keys.ts';
import { retentionText } from '../control/change-events.ts';
import { effectiveRetentionDays, type Organization } from '../control/organizations.ts';
import type { User } from '../control/users.ts';

/** Contains no secret; `nowMicros` decides whether the key has expired. */
export function apiKeyView(key: ApiKey, { slug }: Organization, nowMicros: number) {
  return {
    id: key.id,
    organization: slug,
    name: key.name === '' ? undefined : key.name,
    scopes: key.scopes,
    rate_limit: key.rateLimit === undefined ? undefined : formatRate(key.rateLimit),
    state: keyState(key, nowMicros),
    created_at: formatMicros(key.createdMicros),
    expires_at: formatMicrosIfAny(key.expiresMicros),
    revoked_at: formatMicrosIfAny(key.revokedMicros),
    previous_valid_until: formatMicrosIfAny(key.previousUntilMicros),
  };
}

/** The only view with the text of a key. */
export function issuedKeyView({ apiKey, text }: IssuedKey, organization: Organization, nowMicros: number) {
  const { id, ...shown } = apiKeyView(apiKey, organization, nowMicros);
  return { id, key: text, ...shown };
}

export function userView({ id, email, name, role, createdMicros, disabledMicros }: User) {
  const created_at = formatMicros(createdMicros);
  return { id, email, name, role, created_at, disabled_at: formatMicrosIfAny(disabledMicros) };
}

/** `defaultDays` is the service's retention; undefined: events do not expire. */
export function settingsView(organization: Organization, defaultDays: number | undefined) {
  const { id, slug, name, receipts } = organization;
  const retention = retentionText(organization);
  const retention_days = effectiveRetentionDays(organization, defaultDays);
  return { id, slug, name, retention, retention_days, receipts };
}

function keyState(key: ApiKey, nowMicros: number): 'active' | 'revoked' | 'expired' {
  if (key.revokedMicros !== undefined) return 'revoked';
  return key.expiresMicros !== undefined && key.expiresMicros <= nowMicros ? 'expired' : 'active';
}
