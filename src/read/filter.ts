import { limits as baseLimits } from '../base/limits.ts';
import { limits } from './limits.ts';
import { parseRfc3339Micros } from '../base/timestamp.ts';

/** Which events of an organization are asked for; every part may be absent, all that are given must hold. */
export interface AuditFilter {
  /** Unix microseconds, both inclusive. */
  readonly fromMicros?: number;
  readonly toMicros?: number;
  /** Unix microseconds: events before it have expired by the organization's retention, and nobody is shown them. */
  readonly cutOffMicros?: number | undefined;
  /** Lower-cased, as the columns are. */
  readonly actorEmail?: string;
  readonly actorId?: string;
  readonly name?: string;
  readonly fileHash?: string;
  readonly flowId?: string;
  readonly activityId?: number;
  readonly severity?: Severity;
  readonly status?: Status;
  /** An `orgId` that is not the caller's organization: nothing matches. */
  readonly nothing?: true;
}

const severities = ['Informational', 'Medium', 'High'] as const;
const statuses = ['Success', 'Failure'] as const;
export type Severity = (typeof severities)[number];
export type Status = (typeof statuses)[number];

/** The form of events that a reader asks for; where it is absent, the default one. */
export type EventSchema = 'ocsf';

export interface PageRequest {
  readonly filter: AuditFilter;
  readonly schema?: EventSchema;
  readonly limit: number;
  readonly offset: number;
}

/** Whose events are read; `id` is a lower-case UUID. */
export interface OrganizationNames {
  readonly id: string;
  readonly slug: string;
}

/** The first value of a query parameter, or undefined when it is not there. */
export type QueryParameter = (name: string) => string | undefined;

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const nilUuid = '00000000-0000-0000-0000-000000000000';

/**
 * The request that query parameters describe (contract: Read parameters). Nothing is ever an error: what is invalid
 * is as if it had not been given.
 */
export function readPageRequest(
  parameter: QueryParameter,
  organization: OrganizationNames,
  filterOf = readFilter,
): PageRequest {
  return {
    filter: filterOf(parameter, organization),
    ...readSchema(parameter),
    limit: readLimit(parameter('limit'), limits.pageLimitDefault, limits.pageLimitMax),
    offset: readOffset(parameter('offset')),
  };
}

/** The form of events that is asked for: `ocsf`, or the default for anything else. */
export function readSchema(parameter: QueryParameter): { readonly schema?: EventSchema } {
  return parameter('schema') === 'ocsf' ? { schema: 'ocsf' } : {};
}

/** The filters of query parameters, without paging; `organization` is the caller's. */
export function readFilter(parameter: QueryParameter, { id, slug }: OrganizationNames): AuditFilter {
  const flowId = uuid(parameter('flowId'));
  const orgId = parameter('orgId')?.toLowerCase() ?? '';
  const isOther = orgId !== '' && orgId !== id && orgId !== slug;
  return {
    ...readTimeRange(parameter),
    ...given('actorEmail', lower(parameter('actor'))),
    ...given('actorId', lower(parameter('userId'))),
    ...given('name', lower(parameter('fileName'))),
    ...given('fileHash', lower(parameter('fileHash'))),
    ...given('flowId', flowId),
    // The nil UUID stands for "no flow" in the table, and no event can carry it.
    ...(isOther || flowId === nilUuid ? { nothing: true as const } : {}),
  };
}

/**
 * The filters of the portal: those of the audit endpoint, and a value of each list that it shows with counts. What is
 * none of these values is as if it had not been given.
 */
export function readPortalFilter(parameter: QueryParameter, organization: OrganizationNames): AuditFilter {
  return {
    ...readFilter(parameter, organization),
    ...given('activityId', integer(parameter('activityId'))),
    ...given('severity', oneOf(severities, parameter('severity'))),
    ...given('status', oneOf(statuses, parameter('status'))),
  };
}

/** `startTime` and `endTime` alone. */
export function readTimeRange(parameter: QueryParameter): Pick<AuditFilter, 'fromMicros' | 'toMicros'> {
  return {
    ...given('fromMicros', time(parameter('startTime'))),
    ...given('toMicros', time(parameter('endTime'))),
  };
}

function given<K extends string, V>(name: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { [P in K]?: V });
}

function lower(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text.toLowerCase();
}

function uuid(text: string | undefined): string | undefined {
  const lowered = text?.toLowerCase() ?? '';
  return uuidPattern.test(lowered) ? lowered : undefined;
}

function integer(text: string | undefined): number | undefined {
  const value = /^-?\d+$/.test(text ?? '') ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

function oneOf<T extends string>(values: readonly T[], text: string | undefined): T | undefined {
  return values.find((value) => value === text);
}

/** Clamped to just outside of what an event can have, so that any year fits the engine's type. */
function time(text: string | undefined): number | undefined {
  // A plus sign that nobody encoded arrives as a space.
  const micros = parseRfc3339Micros((text ?? '').replace(/ (?=\d\d:\d\d$)/, '+'));
  if (micros === undefined) return undefined;
  return Math.max(baseLimits.eventTimeMicrosMin - 1, Math.min(baseLimits.eventTimeMicrosMax + 1, micros));
}

/** Rows wanted, at most `max` however many digits there are; `otherwise` when the text is no positive integer. */
export function readLimit<T>(text: string | undefined, otherwise: T, max: number): number | T {
  if (text === undefined || !/^\d+$/.test(text)) return otherwise;
  const value = Math.min(Number(text), max);
  return value > 0 ? value : otherwise;
}

/** Rows to skip; 0 when the text is no safe integer. */
export function readOffset(text: string | undefined): number {
  if (text === undefined || !/^\d+$/.test(text)) return 0;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : 0;
}

/** Whether anything but the time decides which of an organization's events match. */
export function hasColumnFilter(filter: AuditFilter): boolean {
  const { activityId, severity, status } = filter;
  return hasIndexedFilter(filter) || [activityId, severity, status].some((one) => one !== undefined);
}

/** Whether a column decides that has an index or a projection of its own. */
export function hasIndexedFilter({ actorEmail, actorId, name, fileHash, flowId }: AuditFilter): boolean {
  return [actorEmail, actorId, name, fileHash, flowId].some((one) => one !== undefined);
}

/** The earliest time that can match, Unix microseconds, by the filter and by retention; undefined: any. */
export function earliestOf({ fromMicros, cutOffMicros }: AuditFilter): number | undefined {
  if (fromMicros === undefined || cutOffMicros === undefined) return fromMicros ?? cutOffMicros;
  return Math.max(fromMicros, cutOffMicros);
}

/** The range of times that can match, Unix microseconds, both inclusive. */
export function timesOf(filter: AuditFilter): { from: number; to: number } {
  const { eventTimeMicrosMin: from, eventTimeMicrosMax: to } = baseLimits;
  return { from: earliestOf(filter) ?? from, to: filter.toMicros ?? to };
}

export interface Where {
  /** An SQL condition over columns of `events`. */
  readonly sql: string;
  readonly parameters: Readonly<Record<string, string | number>>;
}

/** The condition for one organization's events that match; values only as parameters. */
export function whereClause(organization: string, filter: AuditFilter): Where {
  const conditions = ['org = {org:UUID}'];
  const parameters: Record<string, string | number> = { org: organization };
  const add = (condition: string, name: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    conditions.push(condition);
    parameters[name] = value;
  };
  if (filter.nothing) conditions.push('0');
  add("time >= fromUnixTimestamp64Micro({from:Int64}, 'UTC')", 'from', earliestOf(filter));
  add("time <= fromUnixTimestamp64Micro({to:Int64}, 'UTC')", 'to', filter.toMicros);
  add('actor_email = {actor_email:String}', 'actor_email', filter.actorEmail);
  add('actor_id = {actor_id:String}', 'actor_id', filter.actorId);
  add('has(names, {name:String})', 'name', filter.name);
  add('has(file_hash, {file_hash:String})', 'file_hash', filter.fileHash);
  add('flow_id = {flow_id:UUID}', 'flow_id', filter.flowId);
  add('activity_id = {activity_id:Int64}', 'activity_id', filter.activityId);
  add('severity = {severity:String}', 'severity', filter.severity);
  add('status = {status:String}', 'status', filter.status);
  return { sql: conditions.join(' AND '), parameters };
}
