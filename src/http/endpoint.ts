import type { OrganizationFacts } from '../base/events/organization-facts.ts';
import type { ApiKey } from '../control/api-keys.ts';
import type { Session } from '../control/sessions.ts';
import type { Role } from '../control/users.ts';
import type { Reply } from './response.ts';
import type { RequestContext } from './request-context.ts';
import type { Handler, Route } from './router.ts';

/** Which of the configured rates (contract: Rate limits) an endpoint counts against. */
export type RateClass = 'tenant' | 'audit' | 'ingest' | 'login';

/** A request with a good API key, of one organization or (to write) of all. */
export interface KeyCaller {
  readonly key: ApiKey;
  readonly organization: OrganizationFacts | undefined;
}

/** A request with a good API key to write. */
export interface WriteCaller extends KeyCaller {
  /** To be asked when the body has come, which may take long. Throws Problem `unauthorized` or `rate_limited`. */
  readonly stillGood: () => unknown;
}

/** A request with a good API key to read: its organization is the only one that the request may see. */
export interface ReadCaller extends KeyCaller {
  readonly organization: OrganizationFacts;
}

/** A request with a good session. Its organization is the only one that the request may see. */
export type SessionCaller = Session;

type HandlerFor<Caller> = (context: RequestContext, caller: Caller) => Promise<Reply> | Reply;
export type WriteHandler = HandlerFor<WriteCaller>;
export type ReadHandler = HandlerFor<ReadCaller>;
export type SessionHandler = HandlerFor<SessionCaller>;
/** Answers programs, which have a key, and people, who have a session. */
export type SharedHandler = HandlerFor<ReadCaller | SessionCaller>;

/** Who may use an endpoint, and what answers. */
export type Access =
  | { readonly access: 'open'; readonly handler: Handler }
  | { readonly access: 'login'; readonly handler: Handler }
  /** Anybody, as often as the rate lets the address. */
  | { readonly access: 'visitor'; readonly rate: RateClass; readonly handler: Handler }
  | { readonly access: 'read key'; readonly rate: RateClass; readonly handler: ReadHandler }
  | { readonly access: 'scim key'; readonly rate: RateClass; readonly handler: ReadHandler }
  | { readonly access: 'write key'; readonly rate: RateClass; readonly handler: WriteHandler }
  | {
      readonly access: 'session';
      readonly roles: readonly Role[];
      /** A request that changes something: needs JSON and, where an Origin is sent, the same origin. */
      readonly changes?: true;
      /** A request that tells whether a password is right: counts against the logins of its address as well. */
      readonly checksPassword?: true;
      readonly handler: SessionHandler;
    };

/**
 * An endpoint and who may use it. There is no other way into the table of routes, so an endpoint cannot be made
 * without saying so.
 */
export type Endpoint = Omit<Route, 'handler'> & Access;

export type EndpointOf<A extends Endpoint['access']> = Extract<Endpoint, { readonly access: A }>;
