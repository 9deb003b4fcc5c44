import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../base/observability/log.ts';
import { Problem } from '../base/errors/problem.ts';
import type { Config } from '../config/config.ts';
import { pseudonymSecret } from '../config/secrets.ts';
import { foldEmail } from '../control/email-address.ts';
import type { Directory } from '../control/directory.ts';
import { forgetPlan, overtakenEvents, planEvents, type StoredErasure } from '../control/erasure.ts';
import { findOrganization, type Organization } from '../control/organizations.ts';
import { Journal } from '../control/journal.ts';
import type { OperatorChange } from '../control/operator-changes.ts';
import type { User } from '../control/users.ts';
import type { Person } from '../ocsf/pseudonymize.ts';
import type { ReplacedEvent } from '../storage/replaced-events.ts';
import type { Storage } from '../storage/storage.ts';
import { Lease } from '../storage/lease.ts';
import { encodeErased, ErasureDigest } from '../tlog/erasure.ts';
import { type EraseScope, readPersonEvents, Planner, readScope } from './events-of.ts';
import { limits } from './limits.ts';
import { type PersonOptions, parsePerson } from './person.ts';

const eraseEventsMax = 100_000;
const eraseAgainMax = 3;
const eraseWaitMsMax = 600_000;
const erasePollMs = 200;

export interface ErasureOptions extends PersonOptions {
  readonly org: string;
  readonly account: 'leave' | 'erase';
}

export interface ErasureDeps {
  readonly storage: Storage;
  readonly config: Config;
  readonly log: Logger;
  readonly directory: Directory;
  readonly change: OperatorChange;
  /** Stores the event of the erasure; nothing changes before. */
  readonly hand: () => Promise<void>;
  readonly operator: string;
}

export interface Erasing {
  readonly deps: ErasureDeps;
  readonly organization: Organization;
  readonly person: Person;
  readonly account: User | undefined;
  /** Set if the account is erased, too. */
  readonly erased: User | undefined;
}

const nilUuid = '00000000-0000-0000-0000-000000000000';

/** Rejects with a Problem if the organization does not allow erasures. */
export async function prepare(deps: ErasureDeps, options: ErasureOptions): Promise<Erasing> {
  const { directory, config, log } = deps;
  const organization = findOrganization(directory, options.org);
  if (directory.policyOf(organization.id)?.heldMicros !== undefined)
    throw new Problem(
      'conflict',
      'the organization is under a legal hold; run "auditlog org release" before erasing a person',
    );
  const person = parsePerson(options, await pseudonymSecret(config, log), organization.id);
  const emails = new Set(person.emails.map(foldEmail));
  const users = directory.users(organization.id);
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
  const scope = await readScope(deps, organization.id);
  let count = 0;
  for await (const _ of readPersonEvents(deps.storage, scope, person)) count += 1;
  return count;
}

/** Stores the new texts of each event. Resolves with their number and the hash of their list. */
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
  for await (const found of readPersonEvents(storage, scope, person)) {
    const event = planner.plan(found);
    waiting.push(event);
    bytes += event.source.length + event.ocsf.length;
    if (waiting.length >= limits.eraseEventsAtOnce || bytes > limits.eraseBytesAtOnce) await flush();
  }
  await flush();
  return { events, digest: digest.hex() };
}

/** Undefined for the rest of a confirmed number. */
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
 * One erasure of an organization at a time, so each continues those before it. Rejects with a Problem if another command takes
 * too long.
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
      throw new Problem('conflict', 'another command is planning an erasure of the organization; try again');
    await sleep(erasePollMs);
  }
}

/** A server carries it out, even if this process is killed. */
async function begin(run: Erasing, confirmed: number | undefined, lease: Lease): Promise<StoredErasure> {
  const { deps, organization, person, erased } = run;
  const { storage, directory, change, operator } = deps;
  const id = randomUUID();
  await directory.refresh();
  const scope = await readScope(deps, organization.id);
  let isAsked = false;
  try {
    const planned = await plan(run, scope, id);
    requireCount(planned.events, confirmed);
    await lease.check();
    const facts = { id, organizationId: organization.id, pseudonym: person.pseudonym, operator, ...planned };
    const besides =
      erased === undefined ? [] : await new Journal(storage).besides(organization.id, erased.id);
    isAsked = true;
    const begun = await change('beginErasure', { ...facts, account: erased?.id ?? nilUuid }, besides);
    await deps.hand();
    return begun;
  } catch (error) {
    // Without an answer the erasure may still get into the journal, and then a server needs its plan.
    const isRefused = error instanceof Problem && error.code !== 'unavailable';
    if (!isAsked || isRefused) await forgetPlan(storage, id);
    throw error;
  }
}

/** Undefined if no server carries it out in time. */
async function untilDone(
  { deps: { directory } }: Erasing,
  { id }: StoredErasure,
): Promise<StoredErasure | undefined> {
  const deadline = performance.now() + eraseWaitMsMax;
  while (performance.now() < deadline) {
    await directory.refresh();
    const found = directory.erasure(id);
    if (found?.finishedMicros !== undefined) return found;
    await sleep(erasePollMs);
  }
  return undefined;
}

/** Repeats for events that changed after the plan, which were among the confirmed ones. */
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
      throw new Problem('conflict', `${left} events changed during the erasure; run this again`);
    begun = await planAlone(run, (lease) => begin(run, undefined, lease));
  }
}
