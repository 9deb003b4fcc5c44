import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../base/errors/engine-error.ts';
import { Problem } from '../base/errors/problem.ts';
import { countExpired, type EventRemoval, type Expired } from '../storage/removal.ts';
import type { Storage } from '../storage/storage.ts';
import { changeOfPolicy } from './change-events.ts';
import { type Changed, type Decide, type Moment, unchanged } from './decision.ts';
import { limits } from './limits.ts';
import type { Organization, RetentionPolicy } from './records.ts';
import type { ControlState } from './state.ts';

export type { RetentionPolicy } from './records.ts';

const holdReasonCharactersMax = 1_000;
/** How long a hold waits for a running removal. */
const holdWaitMsMax = 3_600_000;
const dayMicros = 86_400_000_000;

/** Without a policy everything is kept. */
export function keepsAll(id: string): RetentionPolicy {
  return { id, days: undefined, heldMicros: undefined, holdReason: '', version: 0 };
}

export function policyOf(state: ControlState, id: string): RetentionPolicy {
  return state.policyOf(id) ?? keepsAll(id);
}

/** Undefined: for ever, by policy or hold. */
export function daysKept(policy: RetentionPolicy | undefined): number | undefined {
  return policy === undefined || policy.heldMicros !== undefined ? undefined : policy.days;
}

/** Events before it (Unix microseconds) have expired: `days` before the beginning of today, UTC. Undefined: none. */
export function cutOffOf(policy: RetentionPolicy | undefined, nowMicros: number): number | undefined {
  const days = daysKept(policy);
  return days === undefined ? undefined : (Math.floor(nowMicros / dayMicros) - days) * dayMicros;
}

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

/** Thrown if a change would remove events without confirmation: `would_remove` has the number. */
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
  readonly now: RetentionPolicy;
  readonly removes: number;
}

export interface PolicyPreview {
  /** The version of the policy that was counted. */
  readonly version: number;
  readonly days: number | undefined;
  readonly removes: number;
}

/**
 * Counts stored events that a policy of these days (undefined: for ever) would remove. Above 0, `confirmed` must be that number, else
 * Problem `conflict` has it. A held organization needs no confirmation before the release.
 */
export async function previewPolicy(
  storage: Storage,
  before: RetentionPolicy,
  { days, confirmed }: { readonly days: number | undefined; readonly confirmed?: number | undefined },
  nowMicros: number,
): Promise<PolicyPreview> {
  const { version } = before;
  const isShorter = days !== undefined && (before.days === undefined || days < before.days);
  if (!isShorter || before.heldMicros !== undefined) return { version, days, removes: 0 };
  const { events } = await wouldEnd(storage, before.id, days, nowMicros);
  if (events > 0 && confirmed !== events) throw needsConfirmation(events, confirmed);
  return { version, days, removes: events };
}

/** Throws Problem `conflict` if the policy has changed since. */
export function decidePolicy(
  state: ControlState,
  id: string,
  { version, days, removes }: PolicyPreview,
  { place }: Moment,
): PolicyChange {
  const before = policyOf(state, id);
  checkVersion(before, version);
  if (before.days === days) return { before, now: before, removes: 0 };
  return { before, now: { ...before, days, version: place }, removes };
}

function checkVersion(policy: RetentionPolicy, version: number): void {
  if (policy.version !== version)
    throw new Problem('conflict', 'The retention of this organization has just been changed: try again.');
}

export function followSetting(
  organization: Pick<Organization, 'id' | 'slug'>,
  preview: PolicyPreview,
): Decide<Changed<RetentionPolicy>> {
  return (state, moment) => {
    const { before, now } = decidePolicy(state, organization.id, preview, moment);
    if (before === now) return unchanged({ before, now });
    const change = changeOfPolicy(organization, 'retentionChanged', now);
    return { parts: [['policy', now]], changes: [change], result: { before, now } };
  };
}

function checkReason(reason: string): string {
  const text = reason.trim();
  if (text !== '' && text.length <= holdReasonCharactersMax) return text;
  throw new Problem('malformed', `reason must have 1 to ${holdReasonCharactersMax} characters`);
}

/** A repeat with the same reason changes nothing. Throws Problem `malformed`, and `conflict` if held for another reason or deleted. */
export function placeHold(id: string, reason: string): Decide<Changed<RetentionPolicy>> {
  const holdReason = checkReason(reason);
  return (state, { micros, place }) => {
    const organization = state.organizationById(id);
    if (organization === undefined)
      throw new Problem('conflict', 'the organization was being deleted already: nothing of it can be held');
    const before = policyOf(state, id);
    if (before.heldMicros !== undefined) {
      if (before.holdReason === holdReason) return unchanged({ before, now: before });
      throw new Problem('conflict', `the organization is held already: ${before.holdReason}`);
    }
    const now = { ...before, heldMicros: micros, holdReason, version: place };
    const change = changeOfPolicy(organization, 'legalHoldPlaced', now, { reason });
    return { parts: [['policy', now]], changes: [change], result: { before, now } };
  };
}

/**
 * Waits for a running removal, which the engine cannot undo. False if that takes too long, or a node does not answer.
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
    // Left by a killed server; its next turn sees the hold.
    else if (performance.now() - quietFrom > limits.holdWaitQuietMs) return true;
    await sleep(limits.holdWaitPollMs);
  }
  return false;
}

/** Undefined: the engine could not be asked. */
async function removalOf(removal: EventRemoval, id: string) {
  try {
    const isPlanned = (await removal.unfinished()).some(({ organization }) => organization === id);
    return { isPlanned, isAtIt: (await removal.underWay(id)) > 0 };
  } catch (error) {
    if (error instanceof EngineError) return undefined;
    throw error;
  }
}

/** Throws Problem `conflict` if it is not held, or unconfirmed. */
export async function previewRelease(
  storage: Storage,
  before: RetentionPolicy,
  confirmed: number | undefined,
  nowMicros: number,
): Promise<PolicyPreview> {
  if (before.heldMicros === undefined) throw new Problem('conflict', 'the organization is not held');
  const { events } = await wouldEnd(storage, before.id, before.days, nowMicros);
  if (events > 0 && confirmed !== events) throw needsConfirmation(events, confirmed);
  return { version: before.version, days: before.days, removes: events };
}

/** Throws Problem `malformed`, `conflict`. */
export function releaseHold(
  organization: Pick<Organization, 'id' | 'slug'>,
  reason: string,
  { version, removes }: PolicyPreview,
): Decide<PolicyChange> {
  checkReason(reason);
  return (state, { place }) => {
    const before = policyOf(state, organization.id);
    checkVersion(before, version);
    const now = { ...before, heldMicros: undefined, holdReason: '', version: place };
    const change = changeOfPolicy(organization, 'legalHoldReleased', now, { reason, removes });
    return { parts: [['policy', now]], changes: [change], result: { before, now, removes } };
  };
}
