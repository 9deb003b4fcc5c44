import { formatMicros } from '../base/time/timestamp.ts';
import { sourceEvent } from './change-events.ts';

/** The activity's code (contract: Activities). */
export const storedEventsLost = 4040;

/** Events of one organization. Times are of ingest, Unix microseconds. */
interface Share {
  readonly organizationId: string;
  readonly events: number;
  readonly fromMicros: number;
  readonly toMicros: number;
}

interface Loss {
  /** Id of its record. */
  readonly loss: string;
  /** Of all organizations. */
  readonly events: number;
  /** Undefined if unknown: each organization may have lost some. */
  readonly shares: readonly Share[] | undefined;
  /** Ids of all organizations. */
  readonly organizations: readonly string[];
  readonly operator: string;
  /** Unix microseconds */
  readonly now: number;
}

/** Source events (contract: Ingest) of the organizations concerned. */
export function lostEvents({ loss, events, shares, organizations, operator, now }: Loss): object[] {
  const event = (organizationId: string, msg: string, extra: Readonly<Record<string, unknown>>): object =>
    sourceEvent(
      {
        organizationId,
        code: storedEventsLost,
        level: 'ERROR',
        msg: `${msg} stored events of this organization have been lost`,
        actor: { name: operator, type: 'App/System' },
        result: { title: 'Lost', code: 500 },
        extra: { loss, ...extra },
      },
      now,
    );
  if (shares === undefined)
    return organizations.map((id) => event(id, `Up to ${events}`, { events_max: events }));
  return shares
    .filter(({ organizationId }) => organizations.includes(organizationId))
    .map((share) =>
      event(share.organizationId, `${share.events}`, {
        events: share.events,
        recorded_from: formatMicros(share.fromMicros),
        recorded_to: formatMicros(share.toMicros),
      }),
    );
}
