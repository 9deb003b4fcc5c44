import { fromRfc3339 } from '../api/instant.ts';
import { formatExact, formatMoment } from './time.ts';

/** An RFC 3339 time to the minute, exact in the tooltip. */
export function Moment({ at }: { readonly at: string }) {
  const micros = fromRfc3339(at);
  if (micros === undefined) return <>{at}</>;
  return (
    <time dateTime={at} title={formatExact(micros)}>
      {formatMoment(micros)}
    </time>
  );
}
