/** Types of the schemas in openapi.yaml, made by `npm run openapi`. */
export interface Schemas {
  /** One audit event as readers get it: an Application Activity event of OCSF 1.1.0. Optional fields are absent, never null. Readers ignore fields they do not know. */
  readonly AuditEvent: {
    /** OCSF category. */
    readonly category_name: 'Audit';
    /** OCSF category number. */
    readonly category_uid: 3;
    /** OCSF class. */
    readonly class_name: 'Application Activity';
    /** OCSF class number. */
    readonly class_uid: 3001;
    /** OCSF type number, the same for every event: activity_id tells operations apart. */
    readonly type_uid: 300101;
    /** Words for the type; left out at present. */
    readonly type_name?: string;
    /** When the activity occurred, Unix microseconds, UTC. */
    readonly time: number;
    /** Stable code of the activity. */
    readonly activity_id: number;
    /** Title of the activity, for display. */
    readonly activity_name: string;
    /** Operational importance. */
    readonly severity: 'Informational' | 'Medium' | 'High';
    /** 1, 3 or 4, as severity. */
    readonly severity_id: 1 | 3 | 4;
    /** Whether the operation succeeded. */
    readonly status: 'Success' | 'Failure';
    /** 1 success, 2 failure. */
    readonly status_id: 1 | 2;
    /** Further context of the status. */
    readonly status_detail?: string;
    /** What happened, in words. */
    readonly message: string;
    /** Who acted, and through which application. */
    readonly actor: {
      /** Application that produced the event. */
      readonly app_name: string;
      /** Left out when nothing is known of the user. */
      readonly user?: {
        /** Display name. */
        readonly name?: string;
        /** E-mail address. */
        readonly email_addr?: string;
        /** Such as User, App/System or External user. */
        readonly type?: string;
      };
    };
    /** Where the request came from. */
    readonly src_endpoint?: {
      /** An address, or what the producer sent in its place. */
      readonly ip?: string;
      /** Port of the client. */
      readonly port?: number;
    };
    /** Shared by the events of one gesture or workflow; in lower case. */
    readonly flow_id?: string;
    /** The members of extra_map as pairs of strings: strings as they are, other values as JSON text. */
    readonly enrichments?: readonly ({
      readonly name: string;
      readonly value: string;
    })[];
    /** Context of the event in its own value types; keys vary. */
    readonly extra_map?: Readonly<Record<string, unknown>>;
    readonly metadata: {
      /** Provider of the source log. */
      readonly log_provider?: string;
      /** Format version of the source log. */
      readonly log_version?: string;
      /** When this answer was put together, Unix microseconds, UTC; not for ordering. */
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
  /** One event as a producer sends it. Fields not named here are kept and never an error. For an optional field, null and the empty string count as absent; so does the empty string for a required one. */
  readonly SourceEvent: {
    /** When the event was recorded; stands in for message.timestamp where that is absent. RFC 3339 with an offset and up to nine fraction digits (a space for the T and an offset without a colon are understood), or whole Unix microseconds. */
    readonly time?: string | number | null;
    /** INFO, WARN and ERROR decide the severity; any other value is Informational. */
    readonly level?: string | null;
    /** The message of the audit event. */
    readonly msg?: string | null;
    readonly message: {
      /** When the activity occurred. RFC 3339 with an offset and up to nine fraction digits (a space for the T and an offset without a colon are understood), or whole Unix microseconds. */
      readonly timestamp?: string | number | null;
      /** Who acted: an e-mail address, or what is known of the user. */
      readonly actor?: string | {
        readonly id?: string | null;
        readonly name?: string | null;
        readonly email?: string | null;
        /** Such as User, App/System or External user. */
        readonly type?: string | null;
      } | null;
      /** The activity: its code, or its code and a title. */
      readonly action: number | {
        readonly code: number;
        readonly title?: string | null;
      };
      /** What was acted on: a name, or what is known of it. */
      readonly target?: string | {
        readonly id?: string | null;
        readonly name?: string | null;
        readonly type?: string | null;
      } | null;
      readonly result?: {
        readonly title?: string | null;
        readonly description?: string | null;
        /** 400 and above is a failure; 200 where it is left out. */
        readonly code?: number | null;
        /** Becomes status_detail. */
        readonly detail?: string | null;
      } | null;
      readonly remote?: {
        /** An address, or what the producer knows instead, such as AWS Internal; shown as sent. */
        readonly ip?: string | null;
        readonly port?: number | null;
      } | null;
      readonly sender?: {
        readonly file?: string | null;
        readonly email?: string | null;
        readonly hash?: string | null;
      } | null;
      /** Context of the event, any JSON values: becomes extra_map and enrichments. */
      readonly extra?: Readonly<Record<string, unknown>> | null;
      /** Correlates the events of one gesture; the nil UUID counts as absent. */
      readonly flow_id?: string | null;
      readonly log?: {
        readonly provider?: string | null;
        readonly version?: string | null;
      } | null;
      /** Id or slug of the organization; may be left out with an API key of one organization. */
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
  /** An event of OCSF 1.1.0. This is what all of them have; `/ocsf-event.schema.json` has each class whole. */
  readonly OcsfEvent: {
    readonly category_uid: 3 | 6;
    readonly category_name: string;
    readonly class_uid: 3001 | 3002 | 3003 | 3004 | 3005 | 3006 | 6002 | 6003 | 6006;
    readonly class_name: string;
    /** The activity of the class; 99 for one that the class does not have. */
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
      /** Of this event alone, and the same for ever. */
      readonly uid: string;
      /** Id of the organization. */
      readonly tenant_uid: string;
      readonly version: '1.1.0';
      readonly product: Readonly<Record<string, unknown>>;
      /** When the event was taken in, Unix milliseconds. */
      readonly logged_time: number;
      /** The time as it was sent. */
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
    /** Opaque; where the next request goes on. */
    readonly next_cursor: string;
    /** Whether more can be had at once. */
    readonly has_more: boolean;
    /** Everything that got its place in the order before this moment (Unix microseconds) can be had. */
    readonly settled_through: number;
    /** Everything recorded before this moment (Unix microseconds) has been handed out, with this page and those before it. */
    readonly read_through: number;
  };
  /** One page of audit events and where it stands among all matches. */
  readonly AuditPage: {
    /** The page, newest first; an empty array when nothing matches. */
    readonly data: readonly (Schemas['AuditEvent'])[];
    readonly meta: Schemas['PageMeta'];
  };
  /** The same page with `schema=ocsf`. */
  readonly OcsfPage: {
    /** The page, newest first; an empty array when nothing matches. */
    readonly data: readonly (Schemas['OcsfEvent'])[];
    readonly meta: Schemas['PageMeta'];
  };
  /** Events as a list shows them. */
  readonly Rows: {
    /** Newest first; of one time those recorded last first. */
    readonly data: readonly ({
      /** Its order number, which no other event has. */
      readonly seq: string;
      /** When it happened, Unix microseconds. */
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
      /** The sender's file, else `fileName` of its `extra_map`. */
      readonly file_name?: string;
    })[];
    readonly meta: {
      /** How many match, on the side of the place that is asked for. */
      readonly total: number;
      readonly limit: number;
      readonly offset: number;
      /** An order number: none of the organization's events below it is still to come. So `since` it there are `unsettled` events now, and later as many more as came. */
      readonly settled: string;
      /** How many of the total have this order number or a higher one. */
      readonly unsettled: number;
      readonly searched_back_to?: Schemas['SearchedBackTo'];
    };
  };
  /** Audit events and what they were made of. */
  readonly SourceEvents: {
    /** Newest first. */
    readonly data: readonly ({
      /** Its order number, by which its evidence is found. */
      readonly seq: string;
      readonly event: Schemas['AuditEvent'];
      readonly source: Schemas['StoredEvent'];
    })[];
    readonly meta: {
      readonly limit: number;
      readonly offset: number;
    };
  };
  /** Who signs checkpoints, and since when. */
  readonly EvidenceKeys: {
    /** First line of the organization's checkpoints, and name of its keys. */
    readonly origin: string;
    /** The newest last. */
    readonly keys: readonly ({
      /** As verifiers of signed notes take it, `name+id+key`. */
      readonly key: string;
      readonly added_at: string;
      /** A note by the key before this one. */
      readonly statement?: string;
    })[];
    /** When the first event was added to a tree. */
    readonly begun_at?: string;
    /** Events with an order number below had been stored before that. */
    readonly begun_before_seq?: string;
  };
  /** That an event is covered by a checkpoint. */
  readonly EvidenceInclusion: {
    /** The place of the event among all of the organization, from 0. */
    readonly position: number;
    /** The order number of the event. */
    readonly seq: string;
    /** Unix microseconds. */
    readonly time: number;
    /** The day from which retention removes the event; absent where it is kept. */
    readonly expires?: string;
    /** Base64 of what the leaf of the tree is a hash of. */
    readonly entry: string;
    /** The source event as it is stored; absent where it is no longer there. */
    readonly source?: string;
    /** Base64 of the SHA-256 of what pages show and filters look at, which the entry needs beside the source event; with `source`. */
    readonly shown?: string;
    /** Whether the event is stored now as the entry says; with `source`. */
    readonly as_recorded?: boolean;
    /** When the checkpoint was signed. */
    readonly signed_at: string;
    /** The proof with its checkpoint (C2SP tlog-proof). */
    readonly proof: string;
  };
  /** That a checkpoint continues an older one. */
  readonly EvidenceConsistency: {
    /** The older checkpoint, a signed note. */
    readonly older: string;
    /** The newer one. */
    readonly newer: string;
    /** Base64; the proof of RFC 6962, 2.1.2. */
    readonly hashes: readonly (string)[];
  };
  /** opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest. Members that are not known are passed over; what a log record holds is in the protocol's own documents. */
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
      /** Records that were left out, a number in quotes as protobuf's JSON has it. */
      readonly rejectedLogRecords: string;
      /** Why, for the first of them. */
      readonly errorMessage: string;
    };
  };
  /** google.rpc.Status */
  readonly OtlpStatus: {
    /** One of google.rpc.Code. */
    readonly code: number;
    readonly message: string;
  };
  readonly IngestAnswer: {
    /** Events that are on disk now. */
    readonly accepted: number;
    /** Events that were left out. */
    readonly rejected: number;
    readonly errors: Schemas['EventErrors'];
  };
  /** Why events were refused, in the order of the batch; the first 100, or `maxErrors`. */
  readonly EventErrors: readonly ({
    /** Position of the event in the batch, from 0; blank NDJSON lines do not count. */
    readonly index: number;
    /** JSON pointer of the member, then the rule it breaks. */
    readonly error: string;
  })[];
  /** `admin` may do everything in its organization, `auditor` reads events, `member` sees receipts of its own. */
  readonly Role: 'admin' | 'auditor' | 'member';
  /** RFC 3339 in UTC with six fraction digits. */
  readonly Instant: string;
  /** Short name of an organization, also the first part of its host. */
  readonly Slug: string;
  readonly Credentials: {
    /** In any case. */
    readonly email: string;
    readonly password: string;
    /** Slug. */
    readonly organization?: string;
    /** To be told the organizations where the password is right in several. */
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
  /** A source event as its producer sent it: `time`, `level`, `msg` and in `message` `timestamp`, `actor`, `action`, `target`, `result`, `remote`, `sender`, `extra` and `org`, as far as they were given, and whatever else was in it. Only values of secret keys in `extra` are replaced. */
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
    /** All there are, before paging. */
    readonly total: number;
    /** Page size in effect. */
    readonly limit: number;
    /** Offset in effect. */
    readonly offset: number;
    readonly searched_back_to?: Schemas['SearchedBackTo'];
  };
  /** With `q`, where not all could be looked through: the newest instant that was not looked at. With it as `endTime`, and `offset` less `total` (at least 0), the search goes on. */
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
  /** One transfer. What its events do not say is left out. */
  readonly Receipt: {
    readonly flow_id?: string;
    readonly kind: 'upload' | 'download' | 'stream';
    readonly file_name?: string;
    /** Bytes, as the producer gave them. */
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
      /** First instant that counts; left out where neither the request nor an event gives it. */
      readonly start?: Schemas['Instant'];
      /** Last instant that counts, likewise. */
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
        /** The title of the code, or of one that has none the most frequent title of its events. */
        readonly activity_name: string;
        readonly count: number;
      })[];
      readonly actors: readonly ({
        /** In lower case. */
        readonly email_addr: string;
        /** The name on the newest of the events, where it has one. */
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
      /** How many of the events have no value, by the name of the filter. */
      readonly without: {
        readonly actor: number;
        readonly ip: number;
      };
    };
    readonly meta: {
      /** Values a list, in effect. */
      readonly limit: number;
    };
  };
  readonly TopFiles: {
    readonly data: readonly ({
      /** As the newest of the events has it. */
      readonly name: string;
      readonly count: number;
      /** The sum of `extra.fileSize`, where it is a whole number. */
      readonly bytes: number;
      readonly first_seen: Schemas['Instant'];
      readonly last_seen: Schemas['Instant'];
    })[];
    readonly meta: {
      /** Values a list, in effect. */
      readonly limit: number;
    };
  };
  /** Whether users see receipts of their own transfers. */
  readonly ReceiptsPolicy: 'own' | 'off';
  /** Days that events are kept; left out where they are kept for ever. */
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
    /** The service's clock, by which a page asks for ranges up to now. */
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
  /** A user as a directory sends one. Of it `userName`, `displayName`, `name`, `active`, `roles` and `externalId` are looked at. */
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
  /** How people sign in. */
  readonly SignOnOptions: {
    /** By a provider of OpenID Connect, at `/api/v1/auth/sign-on`. */
    readonly sign_on: boolean;
    /** By password, at `/api/v1/auth/login-handler`. */
    readonly passwords: boolean;
    /** `/api/v1/auth/sign-on` needs the parameter `organization`. */
    readonly names_organization: boolean;
  };
  readonly Settings: {
    readonly id: string;
    readonly slug: Schemas['Slug'];
    readonly name: string;
    /** A duration such as `90d`, `off` (for ever), or `default` (as the service is configured). */
    readonly retention: string;
    readonly retention_days?: Schemas['RetentionDays'];
    /** Expired events, which readers are not shown any more and which will be removed; absent where there are none. A longer retention or a hold takes it back. */
    readonly planned_removal?: Schemas['PlannedRemoval'];
    readonly receipts: Schemas['ReceiptsPolicy'];
  };
  readonly PlannedRemoval: {
    /** Expired events when the removal was planned. */
    readonly events: number;
    /** They happened before this moment. */
    readonly before: string;
    /** How much longer servers have to run before it; 0 while it is under way. */
    readonly in_seconds: number;
  };
  readonly SettingsChange: {
    readonly name?: string;
    /** A duration such as `90d`, `off`, or `default`. */
    readonly retention?: string;
    readonly receipts?: Schemas['ReceiptsPolicy'];
    /** How many stored events a shorter retention may remove. */
    readonly confirm_removal?: number;
  };
  readonly Scopes: readonly ('read' | 'write' | 'scim')[];
  readonly ApiKeys: {
    readonly data: readonly (Schemas['ApiKey'])[];
  };
  /** What may be shown of a key. */
  readonly ApiKey: {
    readonly id: string;
    readonly organization: Schemas['Slug'];
    readonly name?: string;
    readonly scopes: Schemas['Scopes'];
    /** A limit of its own, in place of the service's. */
    readonly rate_limit?: string;
    readonly state: 'active' | 'revoked' | 'expired';
    readonly created_at: Schemas['Instant'];
    readonly expires_at?: Schemas['Instant'];
    readonly revoked_at?: Schemas['Instant'];
    /** The last use that is known, within a minute; in lists alone. Absent for one that was never used. */
    readonly last_used_at?: Schemas['Instant'];
    /** Until when the secret before the last rotation works as well. */
    readonly previous_valid_until?: Schemas['Instant'];
  };
  /** A key together with its text. The text cannot be read again. */
  readonly IssuedApiKey: {
    readonly id: string;
    /** What goes into `X-API-Key`. A secret. */
    readonly key: string;
    readonly organization: Schemas['Slug'];
    readonly name?: string;
    readonly scopes: Schemas['Scopes'];
    /** A limit of its own, in place of the service's. */
    readonly rate_limit?: string;
    readonly state: 'active' | 'revoked' | 'expired';
    readonly created_at: Schemas['Instant'];
    readonly expires_at?: Schemas['Instant'];
    readonly revoked_at?: Schemas['Instant'];
    /** Until when the secret before the last rotation works as well. */
    readonly previous_valid_until?: Schemas['Instant'];
  };
  readonly NewApiKey: {
    readonly scopes: Schemas['Scopes'];
    readonly name?: string;
    /** A duration from now, such as `90d`. Without it the key is valid until it is revoked. */
    readonly expires?: string;
    /** Requests and window, such as `300/15s`. */
    readonly rate_limit?: string;
  };
  readonly KeyRotation: {
    /** A duration, or `0`; `24h` where it is left out. */
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
    /** Left out while the user may sign in. */
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
    /** Why the clock is not trusted, where it is not. */
    readonly clock?: string;
    /** What is known to be damaged, where something is; at most 20 of it. */
    readonly damage?: readonly (Schemas['Damage'])[];
  };
  /** What was looked at, and whether it holds; readiness depends on `engine_…`, `log_…` and `control_data_…`. */
  readonly Checks: {
    /** The engine answers. */
    readonly engine_reachable: boolean;
    /** The last events that were sent to the engine were stored, and its disk has room. */
    readonly engine_takes_writes: boolean;
    /** The write-ahead log takes events of producers. */
    readonly log_takes_writes: boolean;
    /** Users, API keys, organizations and settings can be changed. */
    readonly control_data_takes_writes: boolean;
    /** No stored event is known to be damaged or missing. */
    readonly nothing_damaged: boolean;
    /** Limits are counted together with other servers, as `REDIS_URL` says; false while Redis is away. Absent where each server counts for itself. */
    readonly limits_shared?: boolean;
  };
  /** Damage of stored events, in words for the operator. */
  readonly Damage: {
    readonly kind: 'log_segment' | 'missing_events' | 'unreadable' | 'control_data' | 'evidence';
    /** The segment, part, partition, table or organization. */
    readonly id: string;
    readonly detail: string;
  };
  /** RFC 9457 problem details. */
  readonly Problem: {
    readonly type: 'about:blank';
    /** The status in words. */
    readonly title: string;
    /** The HTTP status again. */
    readonly status: number;
    /** What went wrong, for people. */
    readonly detail: string;
    /** Equal to the header `X-Request-Id`. */
    readonly request_id: string;
    /** Events of the body that were stored; with `errors`. */
    readonly accepted?: number;
    /** Events of the body that were refused; with `errors`. */
    readonly rejected?: number;
    readonly errors?: Schemas['EventErrors'];
    /** How many stored events the change would remove; with 409. */
    readonly would_remove?: number;
    /** Of a login with `list_organizations`; where the password is right. */
    readonly organizations?: readonly (Schemas['OrganizationName'])[];
    readonly checks?: Schemas['Checks'];
    /** What is known to be damaged, where something is; at most 20 of it. */
    readonly damage?: readonly (Schemas['Damage'])[];
    /** Why the clock is not trusted, where it is not. */
    readonly clock?: string;
    /** Why no checkpoint covers the event that a proof is asked of; absent for what lies behind the tree (a place, a checkpoint of so many events, a tile), as nobody can tell whether it will be there. `pending`: one will, within half a minute. `off`: this server signs none for this organization. `absent`: the tree has all events of that time, and not this one. */
    readonly evidence?: 'pending' | 'off' | 'absent';
    /** Why nobody was signed in by a provider. `organization`: none is named, or there is none of that name with a provider. `over`: not begun here, or too long ago. `declined`: the provider said no. `invalid`: what it sent is not good. `provider`: it does not answer as it should. `unverified`: it does not vouch for the address. `unknown`: no user here. `disabled`. `role`: no role by the claims. `last_admin`: the last administrator would be none any more. `linked`: the address is of another person there. `unlinked`: it is of a user who was there before, and `link_email` is off. */
    readonly sign_on?: 'organization' | 'over' | 'declined' | 'invalid' | 'provider' | 'unverified' | 'unknown' | 'disabled' | 'role' | 'last_admin' | 'linked' | 'unlinked';
  };
}

/** What events are asked for. */
export interface EventParameters {
  /** Events at or after this instant: RFC 3339 with an offset, up to 9 fraction digits (cut to microseconds). A space in place of the offset's `+` is understood. Anything else is ignored. */
  readonly startTime?: string | undefined;
  /** Events at or before this instant; written as `startTime`. */
  readonly endTime?: string | undefined;
  /** Events whose actor has exactly this e-mail address, in any case. */
  readonly actor?: string | undefined;
  /** Events whose sender file or target has exactly this name, in any case. */
  readonly fileName?: string | undefined;
  /** Events of this flow, a UUID in any case. Anything else is ignored. */
  readonly flowId?: string | undefined;
  /** Events whose actor has exactly this id, in any case. */
  readonly userId?: string | undefined;
  /** Events whose sender hash or `fileHash` in `extra` is exactly this, in any case. */
  readonly fileHash?: string | undefined;
  /** The caller's own organization, by id or slug, changes nothing; any other gives no events. */
  readonly orgId?: string | undefined;
  /** Events that came from this address, however it is written, or from the addresses of a range (CIDR). An IPv4 address is the same as the IPv6 one that maps it. Anything else is ignored. */
  readonly ip?: string | undefined;
  /** Events of this activity, by its code. Anything but a whole number is ignored. */
  readonly activity?: number | string | undefined;
  /** Events of this severity, `Informational`, `Medium` or `High` in any case. Anything else is ignored. */
  readonly severity?: string | undefined;
  /** Events of this outcome, `Success` or `Failure` in any case. Anything else is ignored. */
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
  /** Up to 10 words of at most 255 characters, each of which stands in a value of the event as it is shown, in any case. Names of members do not count, nor what is the same in all events. A page looks from the newest event on for a second or two: `meta.searched_back_to` says how far it came where that was not all, and `meta.total` counts the matches down to there. With that instant as `endTime` the search goes on. */
  readonly q?: string | undefined;
  /** As `q`, for texts with their spaces: up to 10 of at most 255 characters, separated by commas, all of which stand in the event. In a text a comma is `%2C` and a percent sign `%25`, before the whole is encoded for the address. */
  readonly 'q.phrase'?: string | undefined;
  /** As `q.phrase`, for texts of which none stands in the event. */
  readonly 'q.not'?: string | undefined;
}
