/** Events as producers send them and as readers get them (contract: Ingest, Audit event), and the client's options. */

/** RFC 3339 with an offset, or Unix microseconds. */
export type Instant = string | number;

export interface SourceMessage {
  /** An assigned or any other integer code, alone or with a title of its own. */
  readonly action: number | { readonly code: number; readonly title?: string };
  /** When it happened; `time` of the event is taken in its absence. */
  readonly timestamp?: Instant;
  /** An e-mail address, or more about the actor. */
  readonly actor?:
    | string
    | { readonly id?: string; readonly name?: string; readonly email?: string; readonly type?: string };
  readonly target?: string | { readonly id?: string; readonly name?: string; readonly type?: string };
  /** From code 400 on, the operation failed. */
  readonly result?: {
    readonly title?: string;
    readonly description?: string;
    readonly code?: number;
    readonly detail?: string;
  };
  readonly remote?: { readonly ip?: string; readonly port?: number };
  readonly sender?: { readonly file?: string; readonly email?: string; readonly hash?: string };
  /** Any JSON; values of keys that name secrets are redacted by the service. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly flow_id?: string;
  readonly log?: { readonly provider?: string; readonly version?: string };
  /** Id or slug; not needed with a key of one organization. */
  readonly org?: string;
}

/** What a producer records; `message.timestamp` or `time` must be there. */
export interface SourceEvent {
  readonly time?: Instant;
  readonly level?: string;
  readonly msg?: string;
  readonly message: SourceMessage;
}

/** An OCSF 1.1.0 Application Activity event. What the source did not give is absent, never null. */
export interface AuditEvent {
  readonly category_name: string;
  readonly category_uid: number;
  readonly class_name: string;
  readonly class_uid: number;
  readonly type_uid: number;
  readonly type_name?: string;
  /** Unix microseconds UTC. */
  readonly time: number;
  readonly activity_id: number;
  readonly activity_name: string;
  readonly severity: string;
  readonly severity_id: number;
  readonly status: string;
  readonly status_id: number;
  readonly status_detail?: string;
  readonly message: string;
  readonly actor: {
    readonly app_name?: string;
    readonly user?: { readonly name?: string; readonly email_addr?: string; readonly type?: string };
  };
  readonly src_endpoint?: { readonly ip?: string; readonly port?: number };
  readonly flow_id?: string;
  readonly enrichments?: readonly { readonly name: string; readonly value: string }[];
  readonly extra_map?: Readonly<Record<string, unknown>>;
  readonly metadata: {
    /** When this answer was made, Unix microseconds UTC: differs each time the event is read. */
    readonly logged_time: number;
    readonly log_provider?: string;
    readonly log_version?: string;
    readonly product: { readonly name: string; readonly vendor_name: string };
    readonly version: string;
  };
}

/** What to read (contract: Read, GET audit); everything that is given must hold. */
export interface EventFilter {
  /** At or after; RFC 3339 with an offset. */
  readonly startTime?: string | undefined;
  /** At or before; RFC 3339 with an offset. */
  readonly endTime?: string | undefined;
  readonly actor?: string | undefined;
  readonly userId?: string | undefined;
  readonly fileName?: string | undefined;
  readonly fileHash?: string | undefined;
  readonly flowId?: string | undefined;
}

/** Of one call that reads. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Events of one answer, parsed, and beside each its own JSON text: the text has the digits a number cannot hold. */
export interface EventsRead {
  readonly events: readonly AuditEvent[];
  readonly texts: readonly string[];
}

export interface EventPage extends EventsRead {
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
}

export interface FeedPage extends EventsRead {
  /** Where to go on; keep it once the events of this page are dealt with. */
  readonly cursor: string;
  readonly hasMore: boolean;
  /** No event recorded before this moment can still come, Unix microseconds. */
  readonly settledThrough: number;
}

export interface PageQuery extends EventFilter {
  /** 1 to 1000, default 1000. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

export interface FeedQuery extends EventFilter {
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
