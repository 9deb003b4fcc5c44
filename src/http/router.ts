import type { RequestHead } from './request.ts';
import type { ReceivedBody } from './body.ts';
import type { Reply } from './response.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What a handler gets: the copied request, its body on demand, and a signal for the client's departure. */
export interface RequestContext extends RequestHead {
  /** Parsed leniently: a broken percent encoding stays as text. Made on first use. */
  readonly query: URLSearchParams;
  /** First value of a query parameter: of a repeated one the first counts. */
  first(name: string): string | undefined;
  /** Value of a header; its name in lower case. */
  header(name: string): string | undefined;
  /**
   * The whole body, at most `maxBytes` of the route; call it once. Rejects with a Problem (too_large, unavailable),
   * or when the client goes away. Ask for it before the first await, after the checks that need no body.
   */
  body(): Promise<ReceivedBody>;
  /** Fires when the client goes away. */
  readonly signal: AbortSignal;
}

export type Handler = (context: RequestContext) => Promise<Reply> | Reply;

export interface Route {
  readonly method: Method;
  /** Exact path, or a prefix that ends in `/*`. Compared with the decoded path. */
  readonly path: string;
  /** Label in the metrics. */
  readonly name: string;
  readonly handler: Handler;
  /** The resource answers HEAD as it does GET, without the body (contract: Read). Elsewhere HEAD is 405. */
  readonly head?: true;
  /** Bound of the body in bytes as received. Default: none, a small body is ignored and a large one refused. */
  readonly body?: 'none' | { readonly maxBytes: number };
}

export type Match =
  | { readonly kind: 'route'; readonly route: Route }
  /** The path exists, but not with this method. */
  | { readonly kind: 'other_method'; readonly allow: string }
  | { readonly kind: 'options'; readonly allow: string }
  | { readonly kind: 'unknown_path' };

export interface Router {
  readonly routes: readonly Route[];
  match(method: string, path: string): Match;
}

type Methods = Map<string, Route>;

function matchMethod(methods: Methods, method: string): Match {
  const route = methods.get(method);
  if (route !== undefined) return { kind: 'route', route };
  const allow = [...methods.keys(), 'OPTIONS'].join(', ');
  return { kind: method === 'OPTIONS' ? 'options' : 'other_method', allow };
}

/** Builds the lookup from the table; throws when two routes say the same. Longer prefixes win over shorter ones. */
export function createRouter(routes: readonly Route[]): Router {
  const exact = new Map<string, Methods>();
  const prefixes = new Map<string, Methods>();
  for (const route of routes) {
    const isPrefix = route.path.endsWith('/*');
    const table = isPrefix ? prefixes : exact;
    const key = isPrefix ? route.path.slice(0, -1) : route.path;
    const methods: Methods = table.get(key) ?? new Map<string, Route>();
    if (methods.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`);
    methods.set(route.method, route);
    if (route.head === true) methods.set('HEAD', route);
    table.set(key, methods);
  }
  const byLength = [...prefixes].toSorted(([a], [b]) => b.length - a.length);
  return {
    routes,
    match(method, path) {
      const methods = exact.get(path) ?? byLength.find(([prefix]) => path.startsWith(prefix))?.[1];
      return methods === undefined ? { kind: 'unknown_path' } : matchMethod(methods, method);
    },
  };
}
