import type { PathParameters, RequestContext } from './request-context.ts';
import type { ProblemForm } from './request.ts';
import type { Reply } from './response.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type Handler = (context: RequestContext) => Promise<Reply> | Reply;

export interface Route {
  readonly method: Method;
  /** Percent-decoded; a segment `:id` matches text without a slash, a last one `:path+` any text. */
  readonly path: string;
  readonly name: string;
  readonly handler: Handler;
  /** The resource answers HEAD like GET, without the body (contract: Read). Elsewhere HEAD is 405. */
  readonly head?: true;
  /** As received. Default: none; a small body is ignored and a large one refused. */
  readonly body?: { readonly maxBytes: number };
  readonly problemForm?: ProblemForm;
}

export type Match =
  | { readonly kind: 'route'; readonly route: Route; readonly parameters: PathParameters }
  | { readonly kind: 'other_method'; readonly allow: string }
  | { readonly kind: 'options'; readonly allow: string }
  | { readonly kind: 'unknown_path' };

export interface Router {
  match(method: string, path: string): Match;
}

type Methods = Map<string, Route>;

const noParameters: PathParameters = {};

function matchMethod(methods: Methods, method: string, parameters: PathParameters): Match {
  const route = methods.get(method);
  if (route !== undefined) return { kind: 'route', route, parameters };
  const allow = [...methods.keys(), 'OPTIONS'].join(', ');
  return { kind: method === 'OPTIONS' ? 'options' : 'other_method', allow };
}

function pathPattern(path: string): RegExp {
  return new RegExp(
    `^${path
      .replaceAll('.', '\\.')
      .replace(/:(\w+)\+$/, '(?<$1>.+)')
      .replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}$`,
    's',
  );
}

/**
 * Throws on duplicate routes. A path without parameters wins over one with parameters; of two of these, the
 * first.
 */
export function createRouter(routes: readonly Route[]): Router {
  const fixed = new Map<string, Methods>();
  const withParameters = new Map<string, Methods>();
  for (const route of routes) {
    const table = route.path.includes('/:') ? withParameters : fixed;
    const methods: Methods = table.get(route.path) ?? new Map<string, Route>();
    if (methods.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`);
    methods.set(route.method, route);
    if (route.head === true) methods.set('HEAD', route);
    table.set(route.path, methods);
  }
  const patterns = [...withParameters].map(([path, methods]) => ({ pattern: pathPattern(path), methods }));
  return {
    match(method, path) {
      const methods = fixed.get(path);
      if (methods !== undefined) return matchMethod(methods, method, noParameters);
      for (const { pattern, methods } of patterns) {
        const match = pattern.exec(path);
        if (match !== null) return matchMethod(methods, method, match.groups ?? noParameters);
      }
      return { kind: 'unknown_path' };
    },
  };
}
