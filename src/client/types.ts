import type { EventParameters, Schemas } from '../../schema/openapi.d.ts';

/** Events as producers send and readers get them (contract: Ingest, Audit event), and options. */

/** RFC 3339 with an offset, or Unix microseconds. */
export type Instant = string | number;

/** A producer's event; `message.timestamp` or `time` is required. */
export type SourceEvent = Schemas['SourceEvent'];
export type SourceMessage = SourceEvent['message'];

/** OCSF 1.1.0 Application Activity. Missing values are absent, never null. */
export type AuditEvent = Schemas['AuditEvent'];

/** Members of every OCSF 1.1.0 event; classes have more. */
export type OcsfEvent = Schemas['OcsfEvent'];

/** This service's own schema, or OCSF 1.1.0 (contract: OCSF 1.1.0). */
export type EventSchema = 'default' | 'ocsf';
export type EventOf<S extends EventSchema> = S extends 'ocsf' ? OcsfEvent : AuditEvent;

/** Filters (contract: Read parameters), combined with AND. */
export type EventFilter = EventParameters;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Each event beside its JSON text, which keeps all digits. */
export interface EventsRead<E = AuditEvent> {
  readonly events: readonly E[];
  readonly texts: readonly string[];
}

export interface EventPage<E = AuditEvent> extends EventsRead<E> {
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
  /** With `q`, if the search ended early: pass it as `endTime` to continue. */
  readonly searchedBackTo: string | undefined;
}

export interface FeedPage<E = AuditEvent> extends EventsRead<E> {
  /** Continue here; save it after processing this page. */
  readonly cursor: string;
  readonly hasMore: boolean;
  /** No event recorded before this can still come, Unix microseconds. */
  readonly settledThrough: number;
  /** All events recorded before this are in this page or earlier ones, Unix microseconds. */
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
  readonly schema?: S | undefined;
  /** Empty or absent: from `startTime`, otherwise from the first event. */
  readonly cursor?: string | undefined;
  /** 1 to 10,000, default 1000. */
  readonly limit?: number | undefined;
  /** Seconds of long-polling, 0 to 30. */
  readonly wait?: number | undefined;
}

/** An event that the service rejected because of its content: a retry does not help. */
export interface Rejection {
  /** As sent. */
  readonly event: SourceEvent;
  /** Field and rule, in the service's words; absent if only the first of many were reported. */
  readonly error: string | undefined;
}

export interface Counts {
  readonly acknowledged: number;
  /** Rejected by the service one by one, and passed to `onRejected`. */
  readonly rejected: number;
  /** Given up after retries, or in a batch refused as a whole. */
  readonly failed: number;
  /** Never queued: the queue was full, the client closed, or the event not JSON. */
  readonly dropped: number;
}

export interface FlushReport extends Counts {
  /** Neither acknowledged nor given up at the timeout. */
  readonly pending: number;
  /** Everything recorded since the last report is stored. */
  readonly complete: boolean;
}
