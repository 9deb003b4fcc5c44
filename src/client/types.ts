import type { EventParameters, Schemas } from '../../schema/openapi.d.ts';

/** Events as producers send them and as readers get them (contract: Ingest, Audit event), and the client's options. */

/** RFC 3339 with an offset, or Unix microseconds. */
export type Instant = string | number;

/** What a producer records; `message.timestamp` or `time` must be there. */
export type SourceEvent = Schemas['SourceEvent'];
export type SourceMessage = SourceEvent['message'];

/** An OCSF 1.1.0 Application Activity event. What the source did not give is absent, never null. */
export type AuditEvent = Schemas['AuditEvent'];

/** An event of OCSF 1.1.0: what all of them have; classes have more. */
export type OcsfEvent = Schemas['OcsfEvent'];

/** The form of events: that of this service's API, or OCSF 1.1.0 (contract: OCSF 1.1.0). */
export type EventSchema = 'default' | 'ocsf';
export type EventOf<S extends EventSchema> = S extends 'ocsf' ? OcsfEvent : AuditEvent;

/** What to read (contract: Read parameters); everything that is given must hold. */
export type EventFilter = EventParameters;

/** Options of one call that reads. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Events of one answer, parsed, and beside each its own JSON text: the text has the digits a number cannot hold. */
export interface EventsRead<E = AuditEvent> {
  readonly events: readonly E[];
  readonly texts: readonly string[];
}

export interface EventPage<E = AuditEvent> extends EventsRead<E> {
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
  /** With `q`, where not all could be looked through: with it as `endTime` the search goes on. */
  readonly searchedBackTo: string | undefined;
}

export interface FeedPage<E = AuditEvent> extends EventsRead<E> {
  /** Where to go on; keep it once the events of this page are dealt with. */
  readonly cursor: string;
  readonly hasMore: boolean;
  /** No event recorded before this moment can still come, Unix microseconds. */
  readonly settledThrough: number;
  /** All that was recorded before this moment is in this page and those before it, Unix microseconds. */
  readonly readThrough: number;
}

export interface PageQuery<S extends EventSchema = EventSchema> extends EventFilter {
  /** Default `default`. */
  readonly schema?: S | undefined;
  /** 1 to 1000, default 1000. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

export interface FeedQuery<S extends EventSchema = EventSchema> extends EventFilter {
  /** As for a page. */
  readonly schema?: S | undefined;
  /** Empty or absent: from `startTime` on, else from the first event. */
  readonly cursor?: string | undefined;
  /** 1 to 10,000, default 1000. */
  readonly limit?: number | undefined;
  /** Seconds, 0 to 30, that the server may hold the request while there is nothing. */
  readonly wait?: number | undefined;
}

/** An event that the service refused, for what is in it: sending it again would not help. */
export interface Rejection {
  /** As it was sent. */
  readonly event: SourceEvent;
  /** Field and rule, in the service's words; absent where it reported only the first of many. */
  readonly error: string | undefined;
}

/** What became of recorded events, in events. */
export interface Counts {
  readonly acknowledged: number;
  /** Refused by the service one by one; each was reported to `onRejected`. */
  readonly rejected: number;
  /** Given up after retries, or in a batch that the service refused as a whole. */
  readonly failed: number;
  /** Never queued: the queue was full, the client closed, or the event could not be made JSON. */
  readonly dropped: number;
}

export interface FlushReport extends Counts {
  /** Neither acknowledged nor given up when the time was over. */
  readonly pending: number;
  /** Everything recorded since the last report is stored: nothing pending, rejected, failed or dropped. */
  readonly complete: boolean;
}
