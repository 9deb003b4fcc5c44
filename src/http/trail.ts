import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { limits } from './limits.ts';
import { limits as ingestLimits } from '../ingest/limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { counter, gauge } from '../base/metrics.ts';
import { Problem } from '../base/problem.ts';
import { singleFlight } from '../base/single-flight.ts';
import type { ApiKey } from '../control/api-keys.ts';
import { type EventOrigin, type ServiceEvent, sourceEvent, userActor } from '../control/change-events.ts';
import type { Organization } from '../control/organizations.ts';
import type { User } from '../control/users.ts';
import type { Accept } from '../ingest/accept.ts';
import type { OrganizationFacts } from '../ingest/task.ts';
import type { RequestContext } from './router.ts';

/**
 * Records what the service itself does as audit events, on the path that any producer's take (contract: Sessions).
 *
 * What may still be left undone is recorded first, by calling the trail, and done only once the event is durable: a
 * login gives its cookie, an export its first byte, after that. What cannot be taken back is recorded by `done`:
 *
 *     ready ─503─▶ nothing is changed        done ─▶ durable
 *       └▶ change ─▶ done                        └▶ held and tried again until it is; 503 to whoever made the change
 *
 * While anything is held, `ready` refuses: so of all changes only those under way when the log fails can be ahead of
 * their record, and only for as long as the process lives and the log takes nothing.
 */
export interface Trail {
  /** Resolves once the event is durable. Rejects with Problem `unavailable`, and then the event does not exist. */
  (event: ServiceEvent, origin: EventOrigin): Promise<void>;
  /** As above, for what has happened already: an event that cannot be recorded now is held and recorded later. */
  done(event: ServiceEvent, origin: EventOrigin): Promise<void>;
  /** To be awaited before a change. Rejects with Problem `unavailable` while an earlier one is not recorded. */
  ready(): Promise<void>;
  /** Tries what is held once more; what is left is reported in the operational log and lost. */
  stop(): Promise<void>;
}

export interface TrailOptions {
  readonly accept: Accept;
  /** Undefined for an organization that does not exist any more. */
  readonly organizationOf: (id: string) => OrganizationFacts | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Undefined while the log takes writes. */
  readonly logFailure: () => string | undefined;
}

interface Prepared {
  readonly organizationId: string;
  /** JSON of the source event, with the time at which it happened. */
  readonly text: string;
  /** What the operational log may say of it. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** NUL and lone surrogates, which no event may hold: the values of a query, for one, can. */
const unstorable = /[\p{Cs}\0]/gu;

function prepare(event: ServiceEvent, origin: EventOrigin, clock: Clock): Prepared {
  const { organizationId, code } = event;
  const text = JSON.stringify(sourceEvent(event, clock(), origin), (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll(unstorable, '\uFFFD') : value,
  );
  return {
    organizationId,
    text,
    facts: { organization: organizationId, activity: code, target: event.target?.id, flow_id: origin.flowId },
  };
}

function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('unavailable', detail, { retryAfterSeconds: ingestLimits.walRetryAfterSeconds, cause });
}

/** Trying again helps where the log was full or failing, not where the event itself is refused. */
function mayWorkLater(error: unknown): boolean {
  return error instanceof Problem && (error.code === 'unavailable' || error.code === 'internal');
}

/** The trail of a service; `accept` and `organizationOf` are those of the write endpoint. */
export function createTrail({ accept, organizationOf, clock, log, logFailure }: TrailOptions): Trail {
  const held = createHeld(send, log);

  async function send({ organizationId, text }: Prepared): Promise<void> {
    const organization = organizationOf(organizationId);
    if (organization === undefined) throw new Error('the organization of an event does not exist any more');
    // A buffer of its own: accept gives it away.
    const body = new Uint8Array(Buffer.from(text));
    await accept({ body, form: 'json', encoding: 'identity', organization, idempotency: undefined });
  }

  const record = async (event: ServiceEvent, origin: EventOrigin): Promise<void> => {
    try {
      await send(prepare(event, origin, clock));
    } catch (error) {
      throw unavailable('This cannot be recorded now, so it was not done; try again later.', error);
    }
  };

  return Object.assign(record, {
    async done(event: ServiceEvent, origin: EventOrigin): Promise<void> {
      const prepared = prepare(event, origin, clock);
      try {
        await send(prepared);
      } catch (error) {
        held.add(prepared, error);
        const detail = 'This was done, but it is not recorded yet; nothing can be changed until it is.';
        throw unavailable(detail, error);
      }
    },
    async ready(): Promise<void> {
      if (held.count() > 0) await held.tryNow();
      if (held.count() > 0 || logFailure() !== undefined) {
        throw unavailable('Changes cannot be recorded now, so nothing was changed; try again later.');
      }
    },
    stop: () => held.stop(),
  });
}

/** Events that have happened and could not be recorded: tried again, oldest first, until each is. */
function createHeld(send: (one: Prepared) => Promise<void>, log: Logger) {
  const waiting: Prepared[] = [];
  const lost = counter('auditlog_trail_lost_events_total', 'Events of the service itself not recorded', []);
  let timer: NodeJS.Timeout | undefined;
  gauge('auditlog_trail_held_events', 'Events of the service itself that wait to be recorded', [], (metric) =>
    metric.set(waiting.length),
  );

  function lose({ facts }: Prepared, error: unknown): void {
    lost.inc();
    log.error({ ...facts, ...errorFacts(error) }, 'an event of the service itself cannot be recorded');
  }

  /** In turn, up to the first that fails: the log takes the others no better. */
  async function tryAll(): Promise<void> {
    while (waiting.length > 0) {
      const oldest = waiting[0] as Prepared;
      try {
        await send(oldest);
        log.info(oldest.facts, 'an event of the service itself was recorded late');
      } catch (error) {
        if (mayWorkLater(error)) return;
        lose(oldest, error);
      }
      waiting.shift();
    }
  }

  const tryNow = singleFlight(async () => {
    clearTimeout(timer);
    await tryAll();
    if (waiting.length > 0) arm();
  });

  function arm(): void {
    clearTimeout(timer);
    timer = setTimeout(() => void tryNow(), limits.trailRetryMs).unref();
  }

  return {
    add(one: Prepared, error: unknown): void {
      if (!mayWorkLater(error)) return lose(one, error);
      if (waiting.length >= limits.trailHeldEventsMax) return lose(one, error);
      log.error(
        { ...one.facts, ...errorFacts(error) },
        'an event of the service itself waits to be recorded',
      );
      waiting.push(one);
      arm();
    },
    count: () => waiting.length,
    tryNow,
    async stop(): Promise<void> {
      await tryNow();
      clearTimeout(timer);
      for (const one of waiting.splice(0)) lose(one, new Error('the service stops'));
    },
  };
}

const origins = new WeakMap<RequestContext, EventOrigin>();

/** Where a request came from; every event of the same request gets the same flow id. */
export function trailOrigin(context: RequestContext): EventOrigin {
  const known = origins.get(context);
  if (known !== undefined) return known;
  const origin = { ip: context.ip, port: context.port, flowId: randomUUID() };
  origins.set(context, origin);
  return origin;
}

/** Codes of the registry of activities that are not changes; a test holds them against it. */
export const trailCodes = {
  loginSucceeded: 1001,
  loginFailed: 1002,
  loggedOut: 1003,
  passwordChange: 1010,
  exported: 2030,
} as const;

const succeeded = { level: 'INFO', result: { title: 'OK', code: 200 } } as const;

export function loginSucceeded(user: User, { id: organizationId }: Organization): ServiceEvent {
  const msg = `${user.email} signed in`;
  return { organizationId, code: trailCodes.loginSucceeded, msg, actor: userActor(user), ...succeeded };
}

/**
 * A login with the address of a user that was refused. What was typed is nowhere in it. `ambiguous`: the address is in
 * several organizations and none was named, so the password was not looked at.
 */
export function loginFailed(
  user: User,
  { id: organizationId }: Organization,
  { ambiguous }: { readonly ambiguous: boolean } = { ambiguous: false },
): ServiceEvent {
  const reason = user.disabledMicros === undefined ? 'wrong password' : 'disabled user';
  return {
    organizationId,
    code: trailCodes.loginFailed,
    level: 'WARN',
    msg: `A login as ${user.email} was refused`,
    actor: userActor(user),
    result: { title: 'Refused', code: 401 },
    extra: { reason: ambiguous ? 'organization not named' : reason },
  };
}

export function loggedOut(user: User, { id: organizationId }: Organization): ServiceEvent {
  const msg = `${user.email} signed out`;
  return { organizationId, code: trailCodes.loggedOut, msg, actor: userActor(user), ...succeeded };
}

/** A user who wanted to change the own password and did not know it: perhaps not the user at all. */
export function ownPasswordRefused(user: User): ServiceEvent {
  return {
    organizationId: user.organizationId,
    code: trailCodes.passwordChange,
    level: 'WARN',
    msg: `A change of the password of ${user.email} was refused`,
    actor: userActor(user),
    target: { id: user.id, name: user.email, type: 'user' },
    result: { title: 'Refused', code: 403 },
    extra: { reason: 'wrong current password' },
  };
}

/**
 * An export of audit events, to be recorded before its first byte: by a user, or by a program with a key.
 * `details` is what was asked for: the format, and the filters that were given.
 */
export function exported(
  by: { readonly user: User } | { readonly key: ApiKey },
  { id: organizationId }: Pick<Organization, 'id'>,
  details: Readonly<Record<string, unknown>>,
): ServiceEvent {
  const actor =
    'user' in by
      ? userActor(by.user)
      : { id: by.key.id, name: by.key.name === '' ? by.key.id : by.key.name, type: 'App/System' as const };
  const msg = `Audit events exported by ${actor.email ?? `API key ${actor.id}`}`;
  return { organizationId, code: trailCodes.exported, msg, actor, ...succeeded, extra: details };
}
