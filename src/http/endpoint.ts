import type { OrganizationFacts } from '../base/events/organization-facts.ts';
import type { ApiKey } from '../control/api-keys.ts';
import type { Session } from '../control/sessions.ts';
import type { Role } from '../control/users.ts';
import type { Reply } from './response.ts';
import type { RequestContext } from './request-context.ts';
import type { Handler, Route } from './router.ts';

export type RateClass = 'tenant' | 'audit' | 'ingest' | 'login';

export interface KeyCaller {
  readonly key: ApiKey;
  readonly organization: OrganizationFacts | undefined;
}

export interface WriteCaller extends KeyCaller {
  /** Checks the key again after a slow body. Throws Problem `unauthorized` or `rate_limited`. */
  readonly stillGood: () => unknown;
}

/** Limited to its organization. */
export interface ReadCaller extends KeyCaller {
  readonly organization: OrganizationFacts;
}

export type SessionCaller = Session;

type HandlerFor<Caller> = (context: RequestContext, caller: Caller) => Promise<Reply> | Reply;
export type WriteHandler = HandlerFor<WriteCaller>;
export type ReadHandler = HandlerFor<ReadCaller>;
export type SessionHandler = HandlerFor<SessionCaller>;
export type SharedHandler = HandlerFor<ReadCaller | SessionCaller>;

export type Access =
  | { readonly access: 'open'; readonly handler: Handler }
  | { readonly access: 'login'; readonly handler: Handler }
  | { readonly access: 'visitor'; readonly rate: RateClass; readonly handler: Handler }
  | { readonly access: 'read key'; readonly rate: RateClass; readonly handler: ReadHandler }
  | { readonly access: 'scim key'; readonly rate: RateClass; readonly handler: ReadHandler }
  | { readonly access: 'write key'; readonly rate: RateClass; readonly handler: WriteHandler }
  | {
      readonly access: 'session';
      readonly roles: readonly Role[];
      /** Needs JSON and, if an Origin is sent, the same origin. */
      readonly changes?: true;
      /** Counts against the logins of its address as well. */
      readonly checksPassword?: true;
      /** A repeat needs a session that is good. */
      readonly makesSecret?: true;
      readonly handler: SessionHandler;
    };

/** The route table accepts no endpoint without an access rule. */
export type Endpoint = Omit<Route, 'handler'> & Access;

export type EndpointOf<A extends Endpoint['access']> = Extract<Endpoint, { readonly access: A }>;
