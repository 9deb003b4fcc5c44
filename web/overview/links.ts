import { toRfc3339 } from '../api/instant.ts';
import { hrefOf } from '../ui/router.ts';

/** To today's events under filters, as the address of the events has them. */
export function todayHref(filters: Readonly<Record<string, string>> = {}): string {
  return hrefOf('events', new URLSearchParams({ range: 'today', ...filters }));
}

/** To the events between two moments (Unix microseconds), both included. */
export function betweenHref(from: number, to: number): string {
  return hrefOf('events', new URLSearchParams({ from: toRfc3339(from), to: toRfc3339(to) }));
}
