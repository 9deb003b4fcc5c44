import { formatMicros } from '../base/time/timestamp.ts';

/** SQL columns of a group of events: the times of its first and last one. */
export const seenColumns =
  'toUnixTimestamp64Micro(min(time)) AS first, toUnixTimestamp64Micro(max(time)) AS last';

/** What these are in a row of the engine: Unix microseconds as decimal text. */
export interface Seen {
  readonly first: string;
  readonly last: string;
}

/** The same as answers have it, RFC 3339. */
export function seenTimes({ first, last }: Seen) {
  return { first_seen: formatMicros(Number(first)), last_seen: formatMicros(Number(last)) };
}
