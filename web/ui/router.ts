import { signal } from '@preact/signals';

/**
 * Where the page is: `#/events?actor=…`. State is kept behind the hash, which browsers do not send: what somebody looks
 * for (addresses, names of files) never gets into the log of a proxy.
 */
export interface Route {
  /** First part of the path; empty where none is named. */
  readonly view: string;
  readonly query: URLSearchParams;
}

export const place = signal<Route>(read());

for (const change of ['hashchange', 'popstate'])
  addEventListener(change, () => {
    place.value = read();
  });

function read(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { view: path, query: new URLSearchParams(query) };
}

/** The address of a view for a link. */
export function hrefOf(view: string, query: URLSearchParams = new URLSearchParams()): string {
  const text = query.toString();
  return `#/${view}${text === '' ? '' : `?${text}`}`;
}

/** Goes to a place; `replace` where going back must not lead here. */
export function go(view: string, query?: URLSearchParams, { replace = false } = {}): void {
  const href = hrefOf(view, query);
  if (href === location.hash) return;
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  place.value = read();
}
