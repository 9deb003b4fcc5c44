import { hash } from 'node:crypto';
import { Problem } from '../base/errors/problem.ts';
import { type EventActor, userActor } from '../control/change-events.ts';
import type { Call, Decide } from '../control/decision.ts';
import type { EndpointDeps } from './deps.ts';
import type { SessionCaller } from './endpoint.ts';
import { idempotencyKey } from './ingest-headers.ts';
import type { RequestContext } from './request-context.ts';
import { selfAuditOrigin } from './self-audit.ts';

/** `caller` identifies the same caller in a repeat; default: the id of the user or the key. */
type By = (Pick<SessionCaller, 'user'> | { readonly actor: EventActor }) & { readonly caller?: string };

type Deps = Pick<EndpointDeps, 'directory'>;

/**
 * Resolves when the change is in effect and its events are durable; for a repeat, as the first call did (contract: Repeats of
 * changes). Rejects with EngineError if nothing changed, and with Problem `unavailable` if the result is unknown.
 */
export function recordedChange<T>(
  { directory }: Deps,
  context: RequestContext,
  by: By,
  decide: Decide<T>,
): Promise<T> {
  return directory.change(requestCall(context, by), decide);
}

/** With checks before the change, which a repeat skips. */
export async function preparedChange<T>(
  { directory }: Deps,
  context: RequestContext,
  by: By,
  prepare: () => Promise<Decide<T>>,
): Promise<T> {
  const call = requestCall(context, by);
  const decide = await prepare().catch((refusal: unknown): Decide<T> => {
    if (call.id === undefined) throw refusal;
    return () => {
      throw refusal;
    };
  });
  return directory.change(call, decide);
}

export async function isRepeat({ directory }: Deps, context: RequestContext, by: By): Promise<boolean> {
  const call = requestCall(context, by);
  if (call.id === undefined) return false;
  await directory.refresh();
  return directory.earlier(call) !== undefined;
}

/**
 * By Idempotency-Key, caller, method and path, so an ended session that repeats a call (`Guard`) reaches no other endpoint. Salts
 * the digest of the request with the key, since bodies have passwords. Throws Problem `malformed`.
 */
export function requestCall(context: RequestContext, by: By): Call {
  const actor = 'user' in by ? userActor(by.user) : by.actor;
  const call = { actor, origin: selfAuditOrigin(context) };
  const caller = by.caller ?? actor.id;
  const key = idempotencyKey(context);
  if (key === undefined || caller === undefined) return call;
  if (key === 'body')
    throw new Problem('malformed', 'Idempotency-Key: "body" is for events alone; send a random value.');
  const { method, rawPath, rawQuery } = context.head;
  const id = digestUuid(hash('sha256', [caller, key, method, rawPath].join('\n')));
  return { ...call, id, request: hash('sha256', [key, rawQuery, context.bodyDigest].join('\n')) };
}

function digestUuid(hex: string): string {
  const [, a, b, c, d, e] = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(hex) ?? [];
  return `${a}-${b}-8${c}-8${d}-${e}`;
}
