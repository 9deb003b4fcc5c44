/** Types of the schemas in openapi.yaml, made by `npm run openapi`. */
export interface Schemas {
  /** An Application Activity event of OCSF 1.1.0, as readers get it. Optional fields are absent, never null. Readers ignore unknown fields. */
  readonly AuditEvent: {
    /** OCSF category. */
    readonly category_name: 'Audit';
    /** OCSF category number. */
    readonly category_uid: 3;
    /** OCSF class. */
    readonly class_name: 'Application Activity';
    /** OCSF class number. */
    readonly class_uid: 3001;
    /** OCSF type number, the same for every event. Use activity_id to distinguish operations. */
    readonly type_uid: 300101;
    /** Label of the type. Currently always absent. */
    readonly type_name?: string;
    /** When the activity occurred, Unix microseconds, UTC. */
    readonly time: number;
    /** Stable code of the activity. */
    readonly activity_id: number;
    /** Title of the activity, for display. */
    readonly activity_name: string;
    /** Operational importance. */
    readonly severity: 'Informational' | 'Medium' | 'High';
    /** Number of severity. */
    readonly severity_id: 1 | 3 | 4;
    /** Whether the operation succeeded. */
    readonly status: 'Success' | 'Failure';
    /** 1 success, 2 failure. */
    readonly status_id: 1 | 2;
    /** Details of the status. */
    readonly status_detail?: string;
    /** What happened, as text. */
    readonly message: string;
    /** The user who acted, and the application. */
    readonly actor: {
      /** Application that produced the event. */
      readonly app_name: string;
      /** Absent if the user is unknown. */
      readonly user?: {
        /** Display name. */
        readonly name?: string;
        /** E-mail address. */
        readonly email_addr?: string;
        /** For example User, App/System or External user. */
        readonly type?: string;
      };
    };
    /** Where the request came from. */
    readonly src_endpoint?: {
      /** An address, or any text that the producer sent instead. */
      readonly ip?: string;
      /** Port of the client. */
      readonly port?: number;
    };
    /** Common to the events of one gesture or workflow. In lower case. */
    readonly flow_id?: string;
    /** The members of extra_map as pairs of strings. Other values than strings are JSON text. */
    readonly enrichments?: readonly ({
      readonly name: string;
      readonly value: string;
    })[];
    /** Context of the event, with its original value types. Keys vary. */
    readonly extra_map?: Readonly<Record<string, unknown>>;
    readonly metadata: {
      /** Provider of the source log. */
      readonly log_provider?: string;
      /** Format version of the source log. */
      readonly log_version?: string;
      /** When this answer was made, Unix microseconds, UTC. Not for ordering. */
      readonly logged_time: number;
      readonly product: {
        /** Name of the product. */
        readonly name: string;
        /** Name of the vendor. */
        readonly vendor_name: string;
      };
      /** OCSF schema version. */
      readonly version: '1.1.0';
    };
  };
  /** One event as a producer sends it. Unknown fields are kept and are no error. In an optional field, null and the empty string count as absent. In a required field, the empty string counts as absent. */
  readonly SourceEvent: {
    /** When the event was recorded. Replaces an absent message.timestamp. RFC 3339 with an offset and up to nine fraction digits (a space instead of the T and an offset without a colon are accepted), or whole Unix microseconds. */
    readonly time?: string | number | null;
    /** INFO, WARN and ERROR determine the severity. Any other value is Informational. */
    readonly level?: string | null;
    /** The message of the audit event. */
    readonly msg?: string | null;
    readonly message: {
      /** When the activity occurred. RFC 3339 with an offset and up to nine fraction digits (a space instead of the T and an offset without a colon are accepted), or whole Unix microseconds. */
      readonly timestamp?: string | number | null;
      /** The user who acted: an e-mail address or an object. */
      readonly actor?: string | {
        readonly id?: string | null;
        readonly name?: string | null;
        readonly email?: string | null;
        /** For example User, App/System or External user. */
        readonly type?: string | null;
      } | null;
      /** The activity: a code, or an object with a code and a title. */
      readonly action: number | {
        readonly code: number;
        readonly title?: string | null;
      };
      /** The target of the activity: a name or an object. */
      readonly target?: string | {
        readonly id?: string | null;
        readonly name?: string | null;
        readonly type?: string | null;
      } | null;
      readonly result?: {
        readonly title?: string | null;
        readonly description?: string | null;
        /** 400 and above is a failure. Default: 200. */
        readonly code?: number | null;
        /** Becomes status_detail. */
        readonly detail?: string | null;
      } | null;
      readonly remote?: {
        /** An address, or another text such as AWS Internal. Shown as sent. */
        readonly ip?: string | null;
        readonly port?: number | null;
      } | null;
      readonly sender?: {
        readonly file?: string | null;
        readonly email?: string | null;
        readonly hash?: string | null;
      } | null;
      /** Context of the event, with any JSON values. Becomes extra_map and enrichments. */
      readonly extra?: Readonly<Record<string, unknown>> | null;
      /** Correlates the events of one gesture. The nil UUID counts as absent. */
      readonly flow_id?: string | null;
      readonly log?: {
        readonly provider?: string | null;
        readonly version?: string | null;
      } | null;
      /** Id or slug of the organization. Optional with an API key of one organization. */
      readonly org?: string | null;
    };
  };
  readonly FeedPage: {
    readonly data: readonly (Schemas['AuditEvent'])[];
    readonly meta: Schemas['FeedMeta'];
  };
  /** The same page with `schema=ocsf`. */
  readonly OcsfFeedPage: {
    readonly data: readonly (Schemas['OcsfEvent'])[];
    readonly meta: Schemas['FeedMeta'];
  };
  /** An event of OCSF 1.1.0. This schema has the common members; `/ocsf-event.schema.json` has each class in full. */
  readonly OcsfEvent: {
    readonly category_uid: 3 | 6;
    readonly category_name: string;
    readonly class_uid: 3001 | 3002 | 3003 | 3004 | 3005 | 3006 | 6002 | 6003 | 6006;
    readonly class_name: string;
    /** The activity of the class; 99 if the class does not have it. */
    readonly activity_id: number;
    readonly activity_name: string;
    readonly type_uid: number;
    readonly type_name: string;
    /** When the activity happened, Unix milliseconds; `unmapped.time_us` has the microseconds. */
    readonly time: number;
    readonly severity_id: 1 | 3 | 4;
    readonly severity: string;
    readonly status_id: 1 | 2;
    readonly status: string;
    readonly status_code?: string;
    readonly status_detail?: string;
    readonly message: string;
    readonly metadata: {
      /** Unique and permanent id of the event. */
      readonly uid: string;
      /** Id of the organization. */
      readonly tenant_uid: string;
      readonly version: '1.1.0';
      readonly product: Readonly<Record<string, unknown>>;
      /** When the service received the event, Unix milliseconds. */
      readonly logged_time: number;
      /** The time as the producer sent it. */
      readonly original_time: string;
      /** The code of the activity. */
      readonly event_code: string;
      /** The flow. */
      readonly correlation_uid?: string;
    };
    readonly actor: Readonly<Record<string, unknown>>;
    readonly unmapped: {
      /** The code of the activity. */
      readonly activity_id: number;
      readonly activity_name: string;
      /** When the activity happened, Unix microseconds. */
      readonly time_us: number;
    };
  };
  readonly FeedMeta: {
    /** Opaque position of the next request. */
    readonly next_cursor: string;
    /** More events are available now. */
    readonly has_more: boolean;
    /** All events whose order was assigned before this moment (Unix microseconds) are available. */
    readonly settled_through: number;
    /** This page and the previous ones contain all events recorded before this moment (Unix microseconds). */
    readonly read_through: number;
  };
  /** One page of audit events, and its position among all matches. */
  readonly AuditPage: {
    /** Newest first. An empty array if nothing matches. */
    readonly data: readonly (Schemas['AuditEvent'])[];
    readonly meta: Schemas['PageMeta'];
  };
  /** The same page with `schema=ocsf`. */
  readonly OcsfPage: {
    /** Newest first. An empty array if nothing matches. */
    readonly data: readonly (Schemas['OcsfEvent'])[];
    readonly meta: Schemas['PageMeta'];
  };
  /** Events as rows of a list. */
  readonly Rows: {
    /** Newest first. At the same time, the event recorded last comes first. */
    readonly data: readonly ({
      /** Unique order number of the event. */
      readonly seq: string;
      /** When the activity happened, Unix microseconds. */
      readonly time: number;
      readonly activity_name: string;
      readonly severity: 'Informational' | 'Medium' | 'High';
      readonly status: 'Success' | 'Failure';
      /** The first 300 characters. */
      readonly message: string;
      readonly actor_name?: string;
      readonly actor_email?: string;
      readonly ip?: string;
      /** The target's name. */
      readonly target_name?: string;
      /** The sender's file, otherwise `fileName` of its `extra_map`. */
      readonly file_name?: string;
    })[];
    readonly meta: {
      /** Number of matches on the requested side of the position. */
      readonly total: number;
      readonly limit: number;
      readonly offset: number;
      /** An order number. No event of the organization with a lower one can still come. So a request with `since` set to it returns `unsettled` events now, and new ones later. */
      readonly settled: string;
      /** Number of the matches with this order number or a higher one. */
      readonly unsettled: number;
      readonly searched_back_to?: Schemas['SearchedBackTo'];
    };
  };
  /** Audit events with their source events. */
  readonly SourceEvents: {
    /** Newest first. */
    readonly data: readonly ({
      /** Order number of the event, which selects its proof. */
      readonly seq: string;
      readonly event: Schemas['AuditEvent'];
      readonly source: Schemas['StoredEvent'];
    })[];
    readonly meta: {
      readonly limit: number;
      readonly offset: number;
    };
  };
  /** The keys that sign checkpoints. */
  readonly EvidenceKeys: {
    /** First line of the organization's checkpoints, and name of its keys. */
    readonly origin: string;
    /** Newest last. */
    readonly keys: readonly ({
      /** Verifier key, `name+id+key`. */
      readonly key: string;
      readonly added_at: string;
      /** A note that the previous key signed. */
      readonly statement?: string;
    })[];
    /** When the first event was added to a tree. */
    readonly begun_at?: string;
    /** Events with a lower order number were stored before `begun_at`. */
    readonly begun_before_seq?: string;
  };
  /** Proves that a checkpoint covers an event. */
  readonly EvidenceInclusion: {
    /** Position of the event among all events of the organization, from 0. */
    readonly position: number;
    /** Order number of the event. */
    readonly seq: string;
    /** Unix microseconds. */
    readonly time: number;
    /** The day from which retention removes the event. Absent if it never does. */
    readonly expires?: string;
    /** The entry, in Base64. The leaf of the tree is its hash. */
    readonly entry: string;
    /** The source event as stored. Absent if it no longer exists. */
    readonly source?: string;
    /** SHA-256 of the displayed and filtered values, in Base64. Together with the source event, it determines the entry. Present with `source`. */
    readonly shown?: string;
    /** True if the stored event matches the entry. Present with `source`. */
    readonly as_recorded?: boolean;
    /** When the checkpoint was signed. */
    readonly signed_at: string;
    /** The proof with its checkpoint (C2SP tlog-proof). */
    readonly proof: string;
  };
  /** Proves that a checkpoint continues an older one. */
  readonly EvidenceConsistency: {
    /** The older checkpoint, a signed note. */
    readonly older: string;
    /** The newer checkpoint. */
    readonly newer: string;
    /** The proof of RFC 6962, 2.1.2, in Base64. */
    readonly hashes: readonly (string)[];
  };
  /** opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest. Unknown members are ignored. The protocol's documentation describes log records. */
  readonly OtlpLogs: {
    readonly resourceLogs?: readonly ({
      readonly resource?: Readonly<Record<string, unknown>>;
      readonly scopeLogs?: readonly ({
        readonly scope?: Readonly<Record<string, unknown>>;
        readonly logRecords?: readonly (Readonly<Record<string, unknown>>)[];
      })[];
    })[];
  };
  /** opentelemetry.proto.collector.logs.v1.ExportLogsServiceResponse */
  readonly OtlpLogsAnswer: {
    readonly partialSuccess?: {
      /** Number of rejected records, as a string (JSON of protobuf). */
      readonly rejectedLogRecords: string;
      /** Why the first of them was rejected. */
      readonly errorMessage: string;
    };
  };
  /** google.rpc.Status */
  readonly OtlpStatus: {
    /** A value of google.rpc.Code. */
    readonly code: number;
    readonly message: string;
  };
  readonly IngestAnswer: {
    /** Number of events that were stored. */
    readonly accepted: number;
    /** Number of events that were rejected. */
    readonly rejected: number;
    readonly errors: Schemas['EventErrors'];
  };
  /** Why events were rejected, in the order of the batch: the first 100, or `maxErrors`. */
  readonly EventErrors: readonly ({
    /** Position of the event in the batch, from 0. Blank NDJSON lines do not count. */
    readonly index: number;
    /** JSON pointer of the member, then the broken rule. */
    readonly error: string;
  })[];
  /** `admin` may do everything in its organization, `auditor` reads events, `member` sees only its own receipts. */
  readonly Role: 'admin' | 'auditor' | 'member';
  /** RFC 3339 in UTC with six fraction digits. */
  readonly Instant: string;
  /** Short name of an organization, and the first part of its host. */
  readonly Slug: string;
  readonly Credentials: {
    /** In any case. */
    readonly email: string;
    readonly password: string;
    /** Slug. */
    readonly organization?: string;
    /** If the password is right in several organizations, list them. */
    readonly list_organizations?: boolean;
  };
  readonly LoggedIn: {
    readonly user: {
      readonly name: string;
      readonly email: string;
      readonly role: Schemas['Role'];
    };
    readonly organization: Schemas['OrganizationName'];
  };
  readonly OrganizationName: {
    readonly id: string;
    readonly slug: Schemas['Slug'];
    readonly name: string;
  };
  readonly Token: {
    /** JWT with the claims `sub`, `org`, `role`, `iat`, `exp`, `jti` and `ver`. A secret. */
    readonly token: string;
  };
  readonly OrganizationEvents: {
    /** Source events, newest first. */
    readonly data: readonly (Schemas['StoredEvent'])[];
  };
  /** A source event as its producer sent it. Only secret values are replaced. */
  readonly StoredEvent: {
    readonly time?: string | number | null;
    readonly level?: string | null;
    readonly msg?: string | null;
    readonly message: {
      readonly timestamp?: string | number | null;
      readonly actor?: string | Readonly<Record<string, unknown>> | null;
      readonly action: number | Readonly<Record<string, unknown>>;
      readonly target?: string | Readonly<Record<string, unknown>> | null;
      readonly result?: Readonly<Record<string, unknown>> | string | null;
      readonly remote?: Readonly<Record<string, unknown>> | string | null;
      readonly sender?: Readonly<Record<string, unknown>> | string | null;
      readonly extra?: Readonly<Record<string, unknown>> | string | null;
      readonly org?: string | null;
    };
  };
  readonly PageMeta: {
    /** Number of matches, before paging. */
    readonly total: number;
    /** Effective page size. */
    readonly limit: number;
    /** Effective offset. */
    readonly offset: number;
    readonly searched_back_to?: Schemas['SearchedBackTo'];
  };
  /** With `q`, if the search stopped before the oldest event: the newest instant that was not searched. To continue, send it as `endTime` and reduce `offset` by `total` (to at least 0). */
  readonly SearchedBackTo: string;
  /** Filters with several values. */
  readonly FilterLists: {
    readonly 'actor.in'?: string;
    readonly 'actor.not'?: string;
    readonly 'userId.in'?: string;
    readonly 'userId.not'?: string;
    readonly 'fileName.in'?: string;
    readonly 'fileName.not'?: string;
    readonly 'fileHash.in'?: string;
    readonly 'fileHash.not'?: string;
    readonly 'flowId.in'?: string;
    readonly 'flowId.not'?: string;
    readonly 'ip.in'?: string;
    readonly 'ip.not'?: string;
    readonly 'activity.in'?: string;
    readonly 'activity.not'?: string;
    readonly 'severity.in'?: string;
    readonly 'severity.not'?: string;
    readonly 'status.in'?: string;
    readonly 'status.not'?: string;
    readonly 'orgId.in'?: string;
    readonly 'orgId.not'?: string;
    readonly 'actor.is'?: 'none' | 'any';
    readonly 'userId.is'?: 'none' | 'any';
    readonly 'fileName.is'?: 'none' | 'any';
    readonly 'fileHash.is'?: 'none' | 'any';
    readonly 'flowId.is'?: 'none' | 'any';
    readonly 'ip.is'?: 'none' | 'any';
  };
  readonly ReceiptsPage: {
    readonly data: readonly (Schemas['Receipt'])[];
    readonly meta: Schemas['PageMeta'];
  };
  /** One transfer. Values that its events lack are absent. */
  readonly Receipt: {
    readonly flow_id?: string;
    readonly kind: 'upload' | 'download' | 'stream';
    readonly file_name?: string;
    /** Bytes, as the producer sent them. */
    readonly file_size?: number;
    readonly destination?: string;
    readonly status: 'started' | 'completed' | 'failed';
    readonly started_at?: Schemas['Instant'];
    readonly completed_at?: Schemas['Instant'];
  };
  readonly HistogramBuckets: readonly ({
    readonly start: Schemas['Instant'];
    readonly success: number;
    readonly failure: number;
  })[];
  readonly Histogram: {
    readonly data: Schemas['HistogramBuckets'];
    readonly meta: {
      /** Width of every bucket. */
      readonly bucket_seconds: number;
      /** First instant of the range. Absent if neither the request nor an event determines it. */
      readonly start?: Schemas['Instant'];
      /** Last instant of the range, likewise. */
      readonly end?: Schemas['Instant'];
      /** The sum of all buckets. */
      readonly total: number;
    };
    /** With `compare=previous`, the range of the same length that ends where this one begins. */
    readonly previous?: {
      readonly start: Schemas['Instant'];
      readonly end: Schemas['Instant'];
      readonly total: number;
      readonly data: Schemas['HistogramBuckets'];
    };
  };
  readonly TopValues: {
    readonly data: {
      readonly activities: readonly ({
        readonly activity_id: number;
        /** Title of the code. If the code has none, the most frequent title of its events. */
        readonly activity_name: string;
        readonly count: number;
      })[];
      readonly actors: readonly ({
        /** In lower case. */
        readonly email_addr: string;
        /** Name on the newest event that has one. */
        readonly name?: string;
        readonly count: number;
        readonly first_seen: Schemas['Instant'];
        readonly last_seen: Schemas['Instant'];
      })[];
      readonly addresses: readonly ({
        readonly ip: string;
        readonly count: number;
        readonly first_seen: Schemas['Instant'];
        readonly last_seen: Schemas['Instant'];
      })[];
      readonly severities: readonly ({
        readonly severity: 'Informational' | 'Medium' | 'High';
        readonly count: number;
      })[];
      readonly statuses: readonly ({
        readonly status: 'Success' | 'Failure';
        readonly count: number;
      })[];
      /** Number of events without a value, by the name of the filter. */
      readonly without: {
        readonly actor: number;
        readonly ip: number;
      };
    };
    readonly meta: {
      /** Effective number of values per list. */
      readonly limit: number;
    };
  };
  readonly TopFiles: {
    readonly data: readonly ({
      /** Name as in the newest event. */
      readonly name: string;
      readonly count: number;
      /** Sum of `extra.fileSize`, if it is a whole number. */
      readonly bytes: number;
      readonly first_seen: Schemas['Instant'];
      readonly last_seen: Schemas['Instant'];
    })[];
    readonly meta: {
      /** Effective number of values per list. */
      readonly limit: number;
    };
  };
  /** True if users see receipts of their own transfers. */
  readonly ReceiptsPolicy: 'own' | 'off';
  /** Days until events expire. Absent if they never do. */
  readonly RetentionDays: number;
  readonly Whoami: {
    readonly user: {
      readonly id: string;
      readonly name: string;
      readonly email: string;
      readonly role: Schemas['Role'];
    };
    readonly organization: {
      readonly id: string;
      readonly slug: Schemas['Slug'];
      readonly name: string;
      readonly receipts: Schemas['ReceiptsPolicy'];
      readonly retention_days?: Schemas['RetentionDays'];
    };
    readonly session: {
      readonly expires_at: Schemas['Instant'];
    };
    /** The service's clock. The page uses it for ranges that end now. */
    readonly time: Schemas['Instant'];
  };
  readonly ScimSchemaNames: readonly (string)[];
  readonly ScimMeta: {
    readonly resourceType: string;
    readonly created?: Schemas['Instant'];
    readonly lastModified?: Schemas['Instant'];
    readonly location: string;
  };
  readonly ScimUser: {
    readonly schemas: Schemas['ScimSchemaNames'];
    readonly id: string;
    readonly externalId?: string;
    readonly userName: string;
    readonly name: {
      readonly formatted: string;
    };
    readonly displayName: string;
    readonly active: boolean;
    readonly emails: readonly ({
      readonly value: string;
      readonly type: string;
      readonly primary: boolean;
    })[];
    readonly roles: readonly ({
      readonly value: Schemas['Role'];
      readonly primary: boolean;
    })[];
    readonly meta: Schemas['ScimMeta'];
  };
  readonly ScimUsers: {
    readonly schemas: Schemas['ScimSchemaNames'];
    readonly totalResults: number;
    readonly startIndex: number;
    readonly itemsPerPage: number;
    readonly Resources: readonly (Schemas['ScimUser'])[];
  };
  /** A user as a directory sends it. Only `userName`, `displayName`, `name`, `active`, `roles` and `externalId` count. */
  readonly ScimNewUser: {
    readonly userName: string;
  };
  readonly ScimPatch: {
    readonly Operations: readonly ({
      readonly op: string;
      readonly path?: string;
      readonly value?: unknown;
    })[];
  };
  readonly ScimError: {
    readonly schemas: Schemas['ScimSchemaNames'];
    readonly status: string;
    readonly scimType?: string;
    readonly detail: string;
  };
  readonly ScimSupported: {
    readonly supported: boolean;
    readonly maxOperations?: number;
    readonly maxPayloadSize?: number;
    readonly maxResults?: number;
  };
  readonly ScimServiceProviderConfig: {
    readonly schemas: Schemas['ScimSchemaNames'];
    readonly patch: Schemas['ScimSupported'];
    readonly bulk: Schemas['ScimSupported'];
    readonly filter: Schemas['ScimSupported'];
    readonly changePassword: Schemas['ScimSupported'];
    readonly sort: Schemas['ScimSupported'];
    readonly etag: Schemas['ScimSupported'];
    readonly authenticationSchemes: readonly ({
      readonly type: string;
      readonly name: string;
      readonly description: string;
      readonly primary?: boolean;
    })[];
    readonly meta: Schemas['ScimMeta'];
  };
  readonly ScimResourceTypes: {
    readonly schemas: Schemas['ScimSchemaNames'];
    readonly totalResults: number;
    readonly startIndex: number;
    readonly itemsPerPage: number;
    readonly Resources: readonly (Schemas['ScimResourceType'])[];
  };
  readonly ScimResourceType: {
    readonly schemas: Schemas['ScimSchemaNames'];
    readonly id: string;
    readonly name: string;
    readonly endpoint: string;
    readonly schema: string;
    readonly meta: Schemas['ScimMeta'];
  };
  readonly ScimSubAttribute: {
    readonly name: string;
    readonly type: string;
    readonly multiValued: boolean;
    readonly required: boolean;
    readonly caseExact: boolean;
    readonly mutability: string;
    readonly returned: string;
    readonly uniqueness: string;
    readonly canonicalValues?: readonly (string)[];
  };
  readonly ScimAttribute: {
    readonly name: string;
    readonly type: string;
    readonly multiValued: boolean;
    readonly required: boolean;
    readonly caseExact: boolean;
    readonly mutability: string;
    readonly returned: string;
    readonly uniqueness: string;
    readonly canonicalValues?: readonly (string)[];
    readonly subAttributes?: readonly (Schemas['ScimSubAttribute'])[];
  };
  readonly ScimSchemas: {
    readonly schemas: Schemas['ScimSchemaNames'];
    readonly totalResults: number;
    readonly startIndex: number;
    readonly itemsPerPage: number;
    readonly Resources: readonly (Schemas['ScimSchema'])[];
  };
  readonly ScimSchema: {
    readonly schemas: Schemas['ScimSchemaNames'];
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly attributes: readonly (Schemas['ScimAttribute'])[];
    readonly meta: Schemas['ScimMeta'];
  };
  /** Ways to sign in. */
  readonly SignOnOptions: {
    /** With an OpenID Connect provider, at `/api/v1/auth/sign-on`. */
    readonly sign_on: boolean;
    /** With a password, at `/api/v1/auth/login-handler`. */
    readonly passwords: boolean;
    /** `/api/v1/auth/sign-on` requires the parameter `organization`. */
    readonly names_organization: boolean;
  };
  readonly Settings: {
    readonly id: string;
    readonly slug: Schemas['Slug'];
    readonly name: string;
    /** A duration such as `90d`, `off` (never expire), or `default` (the service's `RETENTION`). */
    readonly retention: string;
    readonly retention_days?: Schemas['RetentionDays'];
    /** Expired events, which readers no longer see and which will be removed. Absent if there are none. A longer retention or a hold cancels the removal. */
    readonly planned_removal?: Schemas['PlannedRemoval'];
    readonly receipts: Schemas['ReceiptsPolicy'];
  };
  readonly PlannedRemoval: {
    /** Number of expired events when the removal was planned. */
    readonly events: number;
    /** The events happened before this moment. */
    readonly before: string;
    /** How long servers must still run before the removal; 0 while it runs. */
    readonly in_seconds: number;
  };
  readonly SettingsChange: {
    readonly name?: string;
    /** A duration such as `90d`, `off`, or `default`. */
    readonly retention?: string;
    readonly receipts?: Schemas['ReceiptsPolicy'];
    /** Number of stored events that a shorter retention may delete. */
    readonly confirm_removal?: number;
  };
  readonly Scopes: readonly ('read' | 'write' | 'scim')[];
  readonly ApiKeys: {
    readonly data: readonly (Schemas['ApiKey'])[];
  };
  /** A key without its secret. */
  readonly ApiKey: {
    readonly id: string;
    readonly organization: Schemas['Slug'];
    readonly name?: string;
    readonly scopes: Schemas['Scopes'];
    /** The key's own limit, which replaces the service's. */
    readonly rate_limit?: string;
    readonly state: 'active' | 'revoked' | 'expired';
    readonly created_at: Schemas['Instant'];
    readonly expires_at?: Schemas['Instant'];
    readonly revoked_at?: Schemas['Instant'];
    /** The last known use, to the minute; only in lists. Absent if the key was never used. */
    readonly last_used_at?: Schemas['Instant'];
    /** Until when the secret before the last rotation is valid. */
    readonly previous_valid_until?: Schemas['Instant'];
  };
  /** A key with its text. The text cannot be read again. */
  readonly IssuedApiKey: {
    readonly id: string;
    /** The value of `X-API-Key`. A secret. */
    readonly key: string;
    readonly organization: Schemas['Slug'];
    readonly name?: string;
    readonly scopes: Schemas['Scopes'];
    /** The key's own limit, which replaces the service's. */
    readonly rate_limit?: string;
    readonly state: 'active' | 'revoked' | 'expired';
    readonly created_at: Schemas['Instant'];
    readonly expires_at?: Schemas['Instant'];
    readonly revoked_at?: Schemas['Instant'];
    /** Until when the secret before the last rotation is valid. */
    readonly previous_valid_until?: Schemas['Instant'];
  };
  readonly NewApiKey: {
    readonly scopes: Schemas['Scopes'];
    readonly name?: string;
    /** A duration from now, such as `90d`. Without it, the key is valid until it is revoked. */
    readonly expires?: string;
    /** Requests and window, such as `300/15s`. */
    readonly rate_limit?: string;
  };
  readonly KeyRotation: {
    /** A duration, or `0`. Default: `24h`. */
    readonly grace?: string;
  };
  readonly Users: {
    readonly data: readonly (Schemas['User'])[];
  };
  readonly User: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly role: Schemas['Role'];
    readonly created_at: Schemas['Instant'];
    /** Absent while the user may sign in. */
    readonly disabled_at?: Schemas['Instant'];
  };
  readonly UserChange: {
    readonly role: Schemas['Role'];
  };
  readonly NewUser: {
    readonly email: string;
    readonly name: string;
    readonly role: Schemas['Role'];
    readonly password?: Schemas['Password'];
  };
  /** At least 12 characters and at most 1024 bytes. */
  readonly Password: string;
  readonly NewPassword: {
    readonly password: Schemas['Password'];
  };
  readonly PasswordLink: {
    readonly token: string;
    readonly expires_at: Schemas['Instant'];
  };
  readonly PasswordByLink: {
    readonly token: string;
    readonly new: Schemas['Password'];
  };
  readonly PasswordChange: {
    readonly current: string;
    readonly new: Schemas['Password'];
  };
  readonly Health: {
    readonly status: 'ok';
  };
  readonly Readiness: {
    readonly status: 'ready';
    readonly checks: Schemas['Checks'];
    /** Why the clock is not trusted. Absent if it is trusted. */
    readonly clock?: string;
    /** Known damage, at most 20 entries. Absent if there is none. */
    readonly damage?: readonly (Schemas['Damage'])[];
  };
  /** Results of the checks. Readiness depends on `engine_…`, `log_…` and `control_data_…`. */
  readonly Checks: {
    /** The engine answers. */
    readonly engine_reachable: boolean;
    /** The engine stored the last events that were sent to it, and its disk has room. */
    readonly engine_takes_writes: boolean;
    /** The write-ahead log accepts events of producers. */
    readonly log_takes_writes: boolean;
    /** Users, API keys, organizations and settings can be changed. */
    readonly control_data_takes_writes: boolean;
    /** No stored event is known to be damaged or missing. */
    readonly nothing_damaged: boolean;
    /** Servers count limits together in Redis (`REDIS_URL`); false while Redis is unreachable. Absent without `REDIS_URL`. */
    readonly limits_shared?: boolean;
  };
  /** Damage of stored events, explained for the operator. */
  readonly Damage: {
    readonly kind: 'log_segment' | 'missing_events' | 'unreadable' | 'control_data' | 'evidence';
    /** The segment, part, partition, table or organization. */
    readonly id: string;
    readonly detail: string;
  };
  /** RFC 9457 problem details. */
  readonly Problem: {
    readonly type: 'about:blank';
    /** The status as text. */
    readonly title: string;
    /** The HTTP status again. */
    readonly status: number;
    /** What went wrong, for people. */
    readonly detail: string;
    /** Equal to the header `X-Request-Id`. */
    readonly request_id: string;
    /** Number of events that were stored; with `errors`. */
    readonly accepted?: number;
    /** Number of events that were rejected; with `errors`. */
    readonly rejected?: number;
    readonly errors?: Schemas['EventErrors'];
    /** Number of stored events that the change would delete; with 409. */
    readonly would_remove?: number;
    /** Organizations in which the password is right; for a login with `list_organizations`. */
    readonly organizations?: readonly (Schemas['OrganizationName'])[];
    readonly checks?: Schemas['Checks'];
    /** Known damage, at most 20 entries. Absent if there is none. */
    readonly damage?: readonly (Schemas['Damage'])[];
    /** Why the clock is not trusted. Absent if it is trusted. */
    readonly clock?: string;
    /** Why no checkpoint covers the event. `pending`: one will within half a minute. `off`: this server signs none for this organization. `absent`: the tree has all events of that time, but not this one. Absent for positions, checkpoints and tiles behind the end of the tree, because it is unknown whether they will exist. */
    readonly evidence?: 'pending' | 'off' | 'absent';
    /** Why the sign-in with a provider failed. `organization`: no organization is named, or it has no provider. `over`: the sign-in did not begin here, or expired. `declined`: the provider refused it. `invalid`: the provider's answer is invalid. `provider`: the provider does not answer correctly. `unverified`: the e-mail address is not verified. `unknown`: no such user. `disabled`: the user is disabled. `role`: the claims give no role. `last_admin`: the last administrator would lose that role. `linked`: the address belongs to another person. `unlinked`: the address belongs to an existing user, and `link_email` is off. */
    readonly sign_on?: 'organization' | 'over' | 'declined' | 'invalid' | 'provider' | 'unverified' | 'unknown' | 'disabled' | 'role' | 'last_admin' | 'linked' | 'unlinked';
  };
}

/** What events are asked for. */
export interface EventParameters {
  /** Events at or after this instant: RFC 3339 with an offset and up to 9 fraction digits, which are cut to microseconds. A space instead of the offset's `+` is accepted. Invalid values are ignored. */
  readonly startTime?: string | undefined;
  /** Events at or before this instant, in the form of `startTime`. */
  readonly endTime?: string | undefined;
  /** Events of the actor with exactly this e-mail address, in any case. */
  readonly actor?: string | undefined;
  /** Events whose sender file or target has exactly this name, in any case. */
  readonly fileName?: string | undefined;
  /** Events of this flow, a UUID in any case. Invalid values are ignored. */
  readonly flowId?: string | undefined;
  /** Events of the actor with exactly this id, in any case. */
  readonly userId?: string | undefined;
  /** Events whose sender hash or `fileHash` in `extra` is exactly this, in any case. */
  readonly fileHash?: string | undefined;
  /** The caller's own organization, by id or slug, changes nothing; any other one selects no events. */
  readonly orgId?: string | undefined;
  /** Events from this address in any notation, or from the addresses of a range (CIDR). An IPv4 address equals the IPv6 address that maps it. Invalid values are ignored. */
  readonly ip?: string | undefined;
  /** Events with this activity code. Values that are not whole numbers are ignored. */
  readonly activity?: number | string | undefined;
  /** Events of this severity: `Informational`, `Medium` or `High`, in any case. Other values are ignored. */
  readonly severity?: string | undefined;
  /** Events with this outcome: `Success` or `Failure`, in any case. Other values are ignored. */
  readonly status?: string | undefined;
  readonly 'actor.in'?: string | undefined;
  readonly 'actor.not'?: string | undefined;
  readonly 'userId.in'?: string | undefined;
  readonly 'userId.not'?: string | undefined;
  readonly 'fileName.in'?: string | undefined;
  readonly 'fileName.not'?: string | undefined;
  readonly 'fileHash.in'?: string | undefined;
  readonly 'fileHash.not'?: string | undefined;
  readonly 'flowId.in'?: string | undefined;
  readonly 'flowId.not'?: string | undefined;
  readonly 'ip.in'?: string | undefined;
  readonly 'ip.not'?: string | undefined;
  readonly 'activity.in'?: string | undefined;
  readonly 'activity.not'?: string | undefined;
  readonly 'severity.in'?: string | undefined;
  readonly 'severity.not'?: string | undefined;
  readonly 'status.in'?: string | undefined;
  readonly 'status.not'?: string | undefined;
  readonly 'orgId.in'?: string | undefined;
  readonly 'orgId.not'?: string | undefined;
  readonly 'actor.is'?: 'none' | 'any' | undefined;
  readonly 'userId.is'?: 'none' | 'any' | undefined;
  readonly 'fileName.is'?: 'none' | 'any' | undefined;
  readonly 'fileHash.is'?: 'none' | 'any' | undefined;
  readonly 'flowId.is'?: 'none' | 'any' | undefined;
  readonly 'ip.is'?: 'none' | 'any' | undefined;
  /** Up to 10 words of at most 255 characters. Each must occur in a displayed value of the event, in any case. Names of members and values that are constant in all events do not count. A page searches for a second or two, from the newest event on. If it stops before the end, `meta.searched_back_to` is where it stopped, and `meta.total` counts the matches down to there. Continue with that instant as `endTime`. */
  readonly q?: string | undefined;
  /** Like `q`, for texts with spaces: up to 10 texts of at most 255 characters, separated by commas. The event must contain all of them. Write a comma in a text as `%2C` and a percent sign as `%25`, then encode the whole for the URL. */
  readonly 'q.phrase'?: string | undefined;
  /** Like `q.phrase`, but the event must contain none of the texts. */
  readonly 'q.not'?: string | undefined;
}
