import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../base/time/clock.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { Problem } from '../base/errors/problem.ts';
import { countExpired, type EventRemoval, type Expired } from '../storage/removal.ts';
import type { Storage } from '../storage/storage.ts';
import { ControlTable, field, optional, optionalTime, type RowOf, version } from './control-table.ts';
import { limits } from './limits.ts';

const holdReasonCharactersMax = 1_000;
/** How long a hold waits for a removal that is under way. */
const holdWaitMsMax = 3_600_000;

/**
 * What is kept of each organization: of one without a row, everything. The setting of an organization says what its
 * administrators want; this is what holds, and follows the setting where nothing would go, or once somebody has
 * confirmed how much does.
 */
export const retentionTable = new ControlTable('retention_policies', 'UUID', {
  /** The organization's id. */
  id: field<string>('id'),
  /** Undefined: for ever. */
  days: optional<number>('days'),
  /** Not undefined: nothing is removed, whatever `days` says. */
  heldMicros: optionalTime('held_at'),
  holdReason: field<string>('hold_reason'),
  version: version(),
});

export type RetentionPolicy = RowOf<typeof retentionTable>;

const dayMicros = 86_400_000_000;

/** The policy of an organization that has none: everything is kept. */
export function keepsAll(id: string): RetentionPolicy {
  return { id, days: undefined, heldMicros: undefined, holdReason: '', version: 0 };
}

/** How many days of an organization count now; undefined: for ever, by policy or by a hold. */
export function daysKept(policy: RetentionPolicy | undefined): number | undefined {
  return policy === undefined || policy.heldMicros !== undefined ? undefined : policy.days;
}

/**
 * The moment before which an organization's events have expired (Unix microseconds): `days` days before the beginning of
 * today, UTC, so the whole last day of an event's retention is kept. Undefined: none is.
 */
export function cutOffOf(policy: RetentionPolicy | undefined, nowMicros: number): number | undefined {
  const days = daysKept(policy);
  return days === undefined ? undefined : (Math.floor(nowMicros / dayMicros) - days) * dayMicros;
}

/** The policy of an organization as it was written last. Rejects with EngineError. */
export async function readPolicy(storage: Storage, id: string): Promise<RetentionPolicy> {
  return (await retentionTable.newest(storage, id)) ?? keepsAll(id);
}

/** The policies of many, by organization; of those that have one. Rejects with EngineError. */
export async function readPolicies(storage: Storage): Promise<Map<string, RetentionPolicy>> {
  const found = await retentionTable.select(storage, '1 ORDER BY id');
  return new Map(found.map((policy) => [policy.id, policy]));
}

/** What a policy with so many days would end now: how many events, and before which moment. */
export async function wouldEnd(
  storage: Storage,
  id: string,
  days: number | undefined,
  nowMicros: number,
): Promise<{ readonly events: number; readonly expired: Expired | undefined }> {
  const beforeMicros = cutOffOf({ ...keepsAll(id), days }, nowMicros);
  if (beforeMicros === undefined) return { events: 0, expired: undefined };
  const expired = { organization: id, beforeMicros };
  return { events: await countExpired(storage, expired), expired };
}

/** Told where a change would remove events and nobody has said that it may: `would_remove` has the number. */
export function needsConfirmation(events: number, confirmed: number | undefined): Problem {
  const first = `This would permanently delete ${events} stored event${events === 1 ? '' : 's'}`;
  const detail =
    confirmed === undefined
      ? `${first}: confirm that number.`
      : `${first}, and ${confirmed} were confirmed: nothing was changed.`;
  return new Problem('conflict', detail, { members: { would_remove: events } });
}

export interface PolicyChange {
  readonly before: RetentionPolicy;
  /** The same object where nothing changed. */
  readonly now: RetentionPolicy;
  /** Events that expire by the change. */
  readonly removes: number;
}

/** A change of policy that may be made: see `previewPolicy`. */
export interface PolicyPreview {
  readonly before: RetentionPolicy;
  readonly days: number | undefined;
  /** Events that expire by the change. */
  readonly removes: number;
}

/**
 * Looks whether an organization's events may be kept for so many days from now on, those that are stored included;
 * undefined: for ever. Where that ends the time of any, `confirmed` must be their number, else a Problem `conflict` tells
 * it. While the organization is held nothing goes, and nothing need be confirmed before the release.
 */
export async function previewPolicy(
  storage: Storage,
  id: string,
  { days, confirmed }: { readonly days: number | undefined; readonly confirmed?: number | undefined },
  nowMicros: number,
): Promise<PolicyPreview> {
  const before = await readPolicy(storage, id);
  const isShorter = days !== undefined && (before.days === undefined || days < before.days);
  if (!isShorter || before.heldMicros !== undefined) return { before, days, removes: 0 };
  const { events } = await wouldEnd(storage, id, days, nowMicros);
  if (events > 0 && confirmed !== events) throw needsConfirmation(events, confirmed);
  return { before, days, removes: events };
}

/** Makes a change that was previewed; the same policy where it changes nothing. */
export async function applyPolicy(
  storage: Storage,
  { before, days, removes }: PolicyPreview,
  nowMicros: number,
): Promise<PolicyChange> {
  if (before.days === days) return { before, now: before, removes: 0 };
  return { before, now: await retentionTable.update(storage, before, { days }, nowMicros), removes };
}

function checkReason(reason: string): string {
  const text = reason.trim();
  if (text !== '' && text.length <= holdReasonCharactersMax) return text;
  throw new Problem('malformed', `reason must have 1 to ${holdReasonCharactersMax} characters`);
}

/**
 * From now on nothing of the organization is removed. A repeat with the same reason changes nothing. Throws Problem
 * `malformed`, and `conflict` if it is held for another reason.
 */
export async function placeHold(
  storage: Storage,
  id: string,
  reason: string,
  clock: Clock = systemClock,
): Promise<Omit<PolicyChange, 'removes'>> {
  const holdReason = checkReason(reason);
  const before = await readPolicy(storage, id);
  if (before.heldMicros !== undefined) {
    if (before.holdReason === holdReason) return { before, now: before };
    throw new Problem('conflict', `the organization is held already: ${before.holdReason}`);
  }
  const now = clock();
  return { before, now: await retentionTable.update(storage, before, { heldMicros: now, holdReason }, now) };
}

/**
 * Waits until no removal of a held organization is under way any more. One that was about to begin when the hold was
 * written sees it and ends its plan; one that the engine is at cannot be taken back. False where that takes too long, or
 * cannot be known, as a node of a cluster does not answer.
 */
export async function awaitHold(removal: EventRemoval, id: string): Promise<boolean> {
  const begun = performance.now();
  let quietFrom = begun;
  while (performance.now() - begun < holdWaitMsMax) {
    const found = await removalOf(removal, id);
    if (found === undefined) return false;
    const { isPlanned, isAtIt } = found;
    if (!isPlanned && !isAtIt) return true;
    if (isAtIt) quietFrom = performance.now();
    // A plan that nobody is at: a server that was killed left it, and its next turn looks for the hold.
    else if (performance.now() - quietFrom > limits.holdWaitQuietMs) return true;
    await sleep(limits.holdWaitPollMs);
  }
  return false;
}

/** What there is of removals of an organization; undefined: the engine could not be asked. */
async function removalOf(removal: EventRemoval, id: string) {
  try {
    const isPlanned = (await removal.unfinished()).some(({ organization }) => organization === id);
    return { isPlanned, isAtIt: (await removal.underWay(id)) > 0 };
  } catch (error) {
    if (error instanceof EngineError) return undefined;
    throw error;
  }
}

/**
 * Ends a hold: what the policy ends goes. Where that is anything, `confirmed` must be its number. Throws Problem
 * `malformed`, and `conflict`, also where it is not held.
 */
export async function releaseHold(
  storage: Storage,
  id: string,
  { reason, confirmed }: { readonly reason: string; readonly confirmed?: number | undefined },
  clock: Clock = systemClock,
): Promise<PolicyChange> {
  checkReason(reason);
  const before = await readPolicy(storage, id);
  if (before.heldMicros === undefined) throw new Problem('conflict', 'the organization is not held');
  const now = clock();
  const { events } = await wouldEnd(storage, id, before.days, now);
  if (events > 0 && confirmed !== events) throw needsConfirmation(events, confirmed);
  const change = { heldMicros: undefined, holdReason: '' };
  return { before, now: await retentionTable.update(storage, before, change, now), removes: events };
}
