import type { ApiKey, Scope } from '../control/api-keys.ts';
import type { Session } from '../control/sessions.ts';
import type { Role } from '../control/users.ts';
import type { Reply } from './response.ts';
import type { RequestContext } from './request-context.ts';
import type { Handler, Route } from './router.ts';

/** Which of the configured rates (contract: Rate limits) an endpoint counts against. */
export type RateClass = 'tenant' | 'audit' | 'ingest' | 'login';

/** A request with a good API key. */
export interface KeyCaller {
  readonly key: ApiKey;
}

/** A request with a good session. Its organization is the only one that the request may see. */
export type SessionCaller = Session;

export type KeyHandler = (context: RequestContext, caller: KeyCaller) => Promise<Reply> | Reply;
export type SessionHandler = (context: RequestContext, caller: SessionCaller) => Promise<Reply> | Reply;

/** Who may use an endpoint, and what answers. */
export type Access =
  | { readonly access: 'open'; readonly handler: Handler }
  | { readonly access: 'login'; readonly handler: Handler }
  | {
      readonly access: 'key';
      readonly scope: Scope;
      readonly rate: RateClass;
      readonly handler: KeyHandler;
    }
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
