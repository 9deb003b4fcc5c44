import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../base/time/clock.ts';
import { parseDurationMs } from '../base/time/units.ts';
import { Problem } from '../base/errors/problem.ts';
import type { Storage } from '../storage/storage.ts';
import {
  ControlTable,
  field,
  optional,
  optionalTime,
  putUnique,
  type RowOf,
  time,
  version,
} from './control-table.ts';
import { displayName, isUuid } from './names.ts';
import { applyPolicy, type PolicyChange, previewPolicy } from './retention.ts';

/** Who sees receipts of transfers: users their own, or nobody (contract: Read, receipts). */
type ReceiptsPolicy = 'own' | 'off';

export const organizationTable = new ControlTable('organizations', 'UUID', {
  /** UUID in lower case. */
  id: field<string>('id'),
  slug: field<string>('slug'),
  name: field<string>('name'),
  /** Days events are kept; 0: for ever; undefined: as the service's configuration says. */
  retentionDays: optional<number>('retention_days'),
  /** Whatever is not known to allow reading receipts forbids it. */
  receipts: field<ReceiptsPolicy>('receipts', (policy: string) => (policy === 'own' ? 'own' : 'off')),
  createdMicros: time('created_at'),
  deletedMicros: optionalTime('deleted_at'),
  version: version(),
});

/** A tenant. */
export type Organization = RowOf<typeof organizationTable>;

/** What `create` and `set` take besides the slug; texts as an operator gives them. */
export interface OrganizationSettings {
  readonly name?: string | undefined;
  /** A duration in whole days (a part counts as a day), `off` to keep for ever, `default` for the service's own. */
  readonly retention?: string | undefined;
  readonly receipts?: string | undefined;
  /** How many stored events a shorter retention may remove; see `previewPolicy`. */
  readonly confirmed?: number | undefined;
}

/** An organization before and after a change; the same object where nothing changed. */
export interface ChangedOrganization {
  readonly before: Organization;
  readonly now: Organization;
  /** Undefined where the retention was not named. */
  readonly policy: PolicyChange | undefined;
}

const dayMs = 86_400_000;
const retentionDaysMax = 36_500;
const slugPattern = /^[a-z0-9-]{1,63}$/;

/** Days the events of an organization are kept, given the service's default; undefined: for ever. */
export function effectiveRetentionDays(
  organization: Organization,
  defaultDays: number | undefined,
): number | undefined {
  const days = organization.retentionDays ?? defaultDays;
  return days === 0 ? undefined : days;
}

function parseSlug(text: string): string {
  // A slug may stand where an id may: one that reads as an id could pass for another organization.
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

/** Days that a retention as an operator writes it stands for, given the service's default; undefined: for ever. */
export function daysOf(retention: string, defaultDays: number | undefined): number | undefined {
  const days = parseRetention(retention) ?? defaultDays;
  return days === 0 ? undefined : days;
}

function parseReceipts(text: string): ReceiptsPolicy {
  if (text === 'own' || text === 'off') return text;
  throw new Problem('malformed', 'receipts must be own or off');
}

function withSlug(storage: Storage, slug: string): Promise<Organization[]> {
  return organizationTable.select(storage, 'slug = {slug:String} AND deleted_at IS NULL', { slug });
}

/** Every organization, by slug. */
export function listOrganizations(storage: Storage): Promise<Organization[]> {
  return organizationTable.select(storage, 'deleted_at IS NULL ORDER BY slug');
}

/** The organization of a slug or an id. Throws Problem `not_found`. */
export async function findOrganization(storage: Storage, reference: string): Promise<Organization> {
  const [organization] = isUuid(reference)
    ? await organizationTable.select(storage, 'id = {id:UUID} AND deleted_at IS NULL', { id: reference })
    : await withSlug(storage, reference);
  if (organization === undefined)
    throw new Problem('not_found', `no organization ${JSON.stringify(reference)}`);
  return organization;
}

/** Makes an organization. Throws Problem `malformed` for bad settings and `conflict` for a slug that is taken. */
export async function createOrganization(
  storage: Storage,
  input: OrganizationSettings & { readonly slug: string; readonly name: string },
  clock: Clock = systemClock,
): Promise<Organization> {
  const slug = parseSlug(input.slug);
  const now = clock();
  const organization: Organization = {
    id: randomUUID(),
    slug,
    name: displayName(input.name),
    retentionDays: input.retention === undefined ? undefined : parseRetention(input.retention),
    receipts: parseReceipts(input.receipts ?? 'own'),
    createdMicros: now,
    deletedMicros: undefined,
    version: now,
  };
  const taken = new Problem('conflict', `the slug ${slug} is taken`);
  await putUnique(organizationTable, storage, organization, () => withSlug(storage, slug), taken);
  return organization;
}

/** The members of an organization that settings name. Throws Problem `malformed`. */
export function changeOfSettings({ name, retention, receipts }: OrganizationSettings) {
  return {
    ...(name !== undefined && { name: displayName(name) }),
    ...(retention !== undefined && { retentionDays: parseRetention(retention) }),
    ...(receipts !== undefined && { receipts: parseReceipts(receipts) }),
  };
}

interface UpdateOptions {
  /** The service's own; undefined: for ever. */
  readonly defaultDays: number | undefined;
  readonly clock?: Clock;
}

/**
 * Changes what is given and keeps the rest. A retention holds for what is stored, too; `defaultDays` is the service's own,
 * undefined: for ever. The setting is written before the policy: of the two, a crash may leave the one that removes
 * nothing. Throws Problem `malformed`, `not_found`, and `conflict` where stored events would go that nobody confirmed.
 */
export async function updateOrganization(
  storage: Storage,
  reference: string,
  settings: OrganizationSettings,
  { defaultDays, clock = systemClock }: UpdateOptions,
): Promise<ChangedOrganization> {
  const before = await findOrganization(storage, reference);
  const { retention, confirmed } = settings;
  const change = changeOfSettings(settings);
  const days = effectiveRetentionDays({ ...before, ...change }, defaultDays);
  const preview =
    retention === undefined
      ? undefined
      : await previewPolicy(storage, before.id, { days, confirmed }, clock());
  const isChanged = Object.entries(change).some(
    ([member, value]) => before[member as keyof Organization] !== value,
  );
  const now = isChanged ? await organizationTable.update(storage, before, change, clock()) : before;
  return { before, now, policy: preview && (await applyPolicy(storage, preview, clock())) };
}
