import { signal } from '@preact/signals';

/** Browsers do not send the part after `#`, so values searched for stay out of a proxy's log. */
export interface Route {
  /** First part of the path; may be empty. */
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

/** The address of a view, for links. */
export function hrefOf(view: string, query: URLSearchParams = new URLSearchParams()): string {
  const text = query.toString();
  return `#/${view}${text === '' ? '' : `?${text}`}`;
}

/** Navigates; `replace` keeps the current address out of the history. */
export function go(view: string, query?: URLSearchParams, { replace = false } = {}): void {
  const href = hrefOf(view, query);
  if (href === location.hash) return;
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  place.value = read();
}
