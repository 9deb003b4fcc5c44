import { formatMicros } from '../base/time/timestamp.ts';

export const seenColumns =
  'toUnixTimestamp64Micro(min(time)) AS first, toUnixTimestamp64Micro(max(time)) AS last';

export interface Seen {
  readonly first: string;
  readonly last: string;
}

export function seenTimes({ first, last }: Seen) {
  return { first_seen: formatMicros(Number(first)), last_seen: formatMicros(Number(last)) };
}
