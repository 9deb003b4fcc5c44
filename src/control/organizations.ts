import { randomUUID } from 'node:crypto';
import { Problem } from '../base/errors/problem.ts';
import { parseDurationMs } from '../base/time/units.ts';
import { changeOfOrganization, changesOfSettings } from './change-events.ts';
import { type Decide, unchanged } from './decision.ts';
import { displayName, isUuid } from './names.ts';
import type { Organization } from './records.ts';
import { decidePolicy, type PolicyChange, type PolicyPreview } from './retention.ts';
import type { ControlState } from './state.ts';

export type { Organization } from './records.ts';

/** Texts of an operator. */
export interface OrganizationSettings {
  readonly name?: string | undefined;
  /** Whole days (a part counts as a day), `off` for ever, `default` for the service's. */
  readonly retention?: string | undefined;
  readonly receipts?: string | undefined;
}

/** The same object if nothing changed. */
export interface ChangedOrganization {
  readonly before: Organization;
  readonly now: Organization;
  /** Undefined if the retention was not given. */
  readonly policy: PolicyChange | undefined;
}

const dayMs = 86_400_000;
const retentionDaysMax = 36_500;
const slugPattern = /^[a-z0-9-]{1,63}$/;

/** With the service's default; undefined: for ever. */
export function effectiveRetentionDays(
  organization: Organization,
  defaultDays: number | undefined,
): number | undefined {
  const days = organization.retentionDays ?? defaultDays;
  return days === 0 ? undefined : days;
}

function parseSlug(text: string): string {
  // A slug that reads as an id could pass for another organization.
  if (slugPattern.test(text) && !isUuid(text)) return text;
  throw new Problem('malformed', 'slug must be 1 to 63 of the characters a-z, 0-9 and -, and not a UUID');
}

function parseRetention(text: string): number | undefined {
  if (text === 'default') return undefined;
  if (text === 'off') return 0;
  const days = Math.ceil((parseDurationMs(text) ?? Number.NaN) / dayMs);
  if (days >= 1 && days <= retentionDaysMax) return days;
  throw new Problem(
    'malformed',
    `retention must be a duration such as 90d, at most ${retentionDaysMax}d, or off, or default`,
  );
}

/** An operator's text, with the service's default; undefined: for ever. */
export function daysOf(retention: string, defaultDays: number | undefined): number | undefined {
  const days = parseRetention(retention) ?? defaultDays;
  return days === 0 ? undefined : days;
}

function parseReceipts(text: string): Organization['receipts'] {
  if (text === 'own' || text === 'off') return text;
  throw new Problem('malformed', 'receipts must be own or off');
}

/** By slug or id. Throws Problem `not_found`. */
export function findOrganization(state: ControlState, reference: string): Organization {
  const organization = isUuid(reference)
    ? state.organizationById(reference.toLowerCase())
    : state.organizationBySlug(reference);
  if (organization === undefined)
    throw new Problem('not_found', `no organization ${JSON.stringify(reference)}`);
  return organization;
}

/** Throws Problem `malformed`, and `conflict` for a known slug. */
export function createOrganization(
  input: OrganizationSettings & { readonly slug: string; readonly name: string },
): Decide<Organization> {
  const slug = parseSlug(input.slug);
  const settings = {
    id: randomUUID(),
    slug,
    name: displayName(input.name),
    retentionDays: input.retention === undefined ? undefined : parseRetention(input.retention),
    receipts: parseReceipts(input.receipts ?? 'own'),
  };
  return (state, { micros }) => {
    if (state.organizationBySlug(slug) !== undefined)
      throw new Problem('conflict', `the slug ${slug} is taken`);
    const organization = { ...settings, createdMicros: micros, deletedMicros: undefined };
    return {
      parts: [['organization', organization]],
      changes: [changeOfOrganization(organization, 'organizationCreated')],
      result: organization,
    };
  };
}

/** The given members. Throws Problem `malformed`. */
export function changeOfSettings({ name, retention, receipts }: OrganizationSettings) {
  return {
    ...(name !== undefined && { name: displayName(name) }),
    ...(retention !== undefined && { retentionDays: parseRetention(retention) }),
    ...(receipts !== undefined && { receipts: parseReceipts(receipts) }),
  };
}

/** Keeps the rest. `preview`: for a given retention (`previewPolicy`). Throws Problem `malformed`, `not_found`, and `conflict` if the policy has changed since. */
export function updateOrganization(
  reference: string,
  settings: OrganizationSettings,
  preview: PolicyPreview | undefined,
): Decide<ChangedOrganization> {
  const change = changeOfSettings(settings);
  return (state, moment) => {
    const before = findOrganization(state, reference);
    const isChanged = Object.entries(change).some(
      ([member, value]) => before[member as keyof Organization] !== value,
    );
    const now = isChanged ? { ...before, ...change } : before;
    const policy = preview && decidePolicy(state, before.id, preview, moment);
    const result = { before, now, policy };
    if (!isChanged && (policy === undefined || policy.before === policy.now)) return unchanged(result);
    return {
      parts: [
        ...(isChanged ? [['organization', now] as const] : []),
        ...(policy !== undefined && policy.before !== policy.now ? [['policy', policy.now] as const] : []),
      ],
      changes: changesOfSettings(result),
      result,
    };
  };
}
