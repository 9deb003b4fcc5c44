import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../base/time/clock.ts';
import type { Logger } from '../base/observability/log.ts';
import { Problem } from '../base/errors/problem.ts';
import type { Config } from '../config/config.ts';
import { pseudonymSecret } from '../config/secrets.ts';
import { foldEmail } from '../control/email-address.ts';
import { changeOfUser, sourceEventOfChange } from '../control/change-events.ts';
import { eventOfErasure, recordedAt } from '../control/erasure-reconciler.ts';
import {
  beginErasure,
  forgetPlan,
  listErasures,
  overtakenEvents,
  planEvents,
  type StoredErasure,
} from '../control/erasure.ts';
import { findOrganization, type Organization } from '../control/organizations.ts';
import { readPolicy } from '../control/retention.ts';
import { eraseUser, listUsers, type User } from '../control/users.ts';
import type { Person } from '../ocsf/pseudonymize.ts';
import type { ReplacedEvent } from '../storage/replaced-events.ts';
import type { Storage } from '../storage/storage.ts';
import { Lease } from '../storage/lease.ts';
import { encodeErased, ErasureDigest } from '../tlog/erasure.ts';
import { type EraseScope, eventsOf, Planner, scopeOf } from './events-of.ts';
import { limits } from './limits.ts';
import { type PersonOptions, personOf } from './person.ts';

/** Events of one erasure. */
const eraseEventsMax = 100_000;
/** Times that what is left is planned anew. */
const eraseAgainMax = 3;
/** How long the command waits for the server. */
const eraseWaitMsMax = 600_000;
const erasePollMs = 200;

/** Who is erased, and from where. */
export interface ErasureOptions extends PersonOptions {
  readonly org: string;
  readonly account: 'leave' | 'erase';
}

/** What an erasure works with. */
export interface ErasureDeps {
  readonly storage: Storage;
  readonly config: Config;
  readonly log: Logger;
  /** Who does it. */
  readonly operator: string;
  /** Records what was done. */
  readonly record: (events: readonly object[]) => Promise<void>;
}

/** What one run works with. */
export interface Erasing {
  readonly deps: ErasureDeps;
  readonly organization: Organization;
  readonly person: Person;
  /** The user of the organization who is this person. */
  readonly account: User | undefined;
  /** The same, where that is to be erased, too. */
  readonly erased: User | undefined;
}

const nobody = '00000000-0000-0000-0000-000000000000';

/** Rejects with a Problem where nobody may be erased there. */
export async function prepare(deps: ErasureDeps, options: ErasureOptions): Promise<Erasing> {
  const { storage, config, log } = deps;
  const organization = await findOrganization(storage, options.org);
  const { heldMicros } = await readPolicy(storage, organization.id);
  if (heldMicros !== undefined)
    throw new Problem(
      'conflict',
      'the organization is held: nobody is erased from it before "auditlog org release"',
    );
  const person = personOf(options, await pseudonymSecret(config, log), organization.id);
  const emails = new Set(person.emails.map(foldEmail));
  const users = await listUsers(storage, organization.id);
  const accounts = users.filter(({ emailLower }) => emails.has(emailLower));
  const [account] = accounts;
  if (options.account === 'erase') checkAccounts(accounts, users);
  const erased = options.account === 'erase' ? account : undefined;
  return { deps, organization, person, account, erased };
}

/** An erasure takes one account, and leaves an administrator. */
function checkAccounts(accounts: readonly User[], users: readonly User[]): void {
  const [account, another] = accounts;
  if (account === undefined) return;
  if (another !== undefined)
    throw new Problem(
      'conflict',
      `the addresses have ${accounts.length} accounts (${accounts.map(({ id }) => id).join(', ')}): give each run one of them with --account erase`,
    );
  const isAdmin = ({ role, disabledMicros }: User) => role === 'admin' && disabledMicros === undefined;
  if (isAdmin(account) && !users.some((user) => isAdmin(user) && user.id !== account.id))
    throw new Problem(
      'conflict',
      `the account ${account.id} is the last administrator of the organization: make another one before`,
    );
}

export async function countEvents({ deps, organization, person }: Erasing): Promise<number> {
  const scope = await scopeOf(deps.storage, organization.id);
  let count = 0;
  for await (const _ of eventsOf(deps.storage, scope, person)) count += 1;
  return count;
}

/** Stores what is to become of each event. Resolves with their number and the hash of their list. */
async function plan(
  { deps, person }: Erasing,
  scope: EraseScope,
  id: string,
): Promise<{ events: number; digest: string }> {
  const { storage, config } = deps;
  const planner = new Planner(scope.organization, config.appName);
  const digest = new ErasureDigest();
  let events = 0;
  let waiting: ReplacedEvent[] = [];
  let bytes = 0;
  const flush = async () => {
    if (waiting.length === 0) return;
    const of = { id, organizationId: scope.organization };
    const planned = await planEvents(storage, of, waiting);
    for (const { seq, before, after } of planned)
      digest.add(encodeErased(BigInt(seq), Buffer.from(before, 'hex'), Buffer.from(after, 'hex')));
    events += planned.length;
    [waiting, bytes] = [[], 0];
  };
  for await (const found of eventsOf(storage, scope, person)) {
    const event = planner.plan(found);
    waiting.push(event);
    bytes += event.source.length + event.ocsf.length;
    if (waiting.length >= limits.eraseEventsAtOnce || bytes > limits.eraseBytesAtOnce) await flush();
  }
  await flush();
  return { events, digest: digest.hex() };
}

/** Undefined: what is left of a number that was confirmed. */
function requireCount(events: number, confirmed: number | undefined): void {
  if (events > eraseEventsMax)
    throw new Problem(
      'conflict',
      `the person is in ${events} stored events, and ${eraseEventsMax} can be changed at once: name fewer addresses, names and ids`,
    );
  if (confirmed !== undefined && confirmed !== events)
    throw new Problem(
      'conflict',
      `the person is in ${events} stored events, and ${confirmed} were confirmed: nothing was changed`,
      { members: { would_erase: events } },
    );
}

/**
 * Plans one erasure of an organization at a time and records its event, so each continues those before it. Rejects
 * with a Problem if another command takes too long.
 */
async function planAlone<T>({ deps, organization }: Erasing, work: (lease: Lease) => Promise<T>) {
  const { storage, log } = deps;
  const lease = new Lease({ storage, name: `erase ${organization.id}`, owner: randomUUID(), log });
  const deadline = performance.now() + eraseWaitMsMax;
  for (;;) {
    if (await lease.take())
      try {
        return await work(lease);
      } finally {
        await lease.end();
      }
    if (performance.now() > deadline)
      throw new Problem('conflict', 'another command is planning an erasure of the organization: try again');
    await sleep(erasePollMs);
  }
}

/** Stores the erasure; then a server carries it out, even if this process is killed. */
async function begin(run: Erasing, confirmed: number | undefined, lease: Lease): Promise<StoredErasure> {
  const { deps, organization, person, erased } = run;
  const { storage, operator } = deps;
  const id = randomUUID();
  const now = systemClock();
  const scope = await scopeOf(storage, organization.id);
  let erasure: StoredErasure;
  try {
    const planned = await plan(run, scope, id);
    requireCount(planned.events, confirmed);
    await lease.check();
    erasure = {
      id,
      organizationId: organization.id,
      pseudonym: person.pseudonym,
      operator,
      ...planned,
      account: erased?.id ?? nobody,
      startedMicros: now,
      finishedMicros: planned.events === 0 ? now : undefined,
      version: now,
    };
    await beginErasure(storage, erasure);
  } catch (error) {
    await forgetPlan(storage, id);
    throw error;
  }
  const user = erased && (await eraseUser(storage, erased.id, person.pseudonym));
  const events = [
    ...(await unrecorded(storage, scope.underWay)).map((one) => eventOfErasure(one)),
    eventOfErasure(erasure),
    ...(user ? [sourceEventOfChange(changeOfUser(user, 'userDisabled'), operator, systemClock())] : []),
  ];
  await deps.record(events);
  return erasure;
}

/** Those whose command was killed before it had recorded them. */
async function unrecorded(storage: Storage, erasures: readonly StoredErasure[]): Promise<StoredErasure[]> {
  const found: StoredErasure[] = [];
  for (const one of erasures) if ((await recordedAt(storage, one)) === undefined) found.push(one);
  return found;
}

/** Undefined if no server carries it out in time. */
async function untilDone(
  { deps: { storage }, organization }: Erasing,
  { id }: StoredErasure,
): Promise<StoredErasure | undefined> {
  const deadline = performance.now() + eraseWaitMsMax;
  while (performance.now() < deadline) {
    const found = (await listErasures(storage, organization.id)).find((one) => one.id === id);
    if (found?.finishedMicros !== undefined) return found;
    await sleep(erasePollMs);
  }
  return undefined;
}

/** Plans again what changed after the plan: those events were among the confirmed ones. */
export async function carryOut(
  run: Erasing,
  confirmed: number | undefined,
  isServed: boolean,
): Promise<StoredErasure> {
  const { storage } = run.deps;
  let begun = await planAlone(run, (lease) => begin(run, confirmed, lease));
  if (!isServed) return begun;
  for (let again = 0; ; again++) {
    const done = await untilDone(run, begun);
    const left = done === undefined ? 0 : await overtakenEvents(storage, done);
    if (left === 0) return done ?? begun;
    if (again === eraseAgainMax)
      throw new Problem(
        'conflict',
        `${left} events were changed while the person was erased from them: run this again`,
      );
    begun = await planAlone(run, (lease) => begin(run, undefined, lease));
  }
}
