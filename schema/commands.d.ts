/** Types of the schemas in commands.yaml, made by `npm run openapi`. */
export interface CommandSchemas {
  /** `sign-on set`, and each element of `sign-on list` */
  readonly CliSignOn: {
    /** Short name of an organization, and the first part of its host. */
    readonly organization: string;
    readonly provider: 'own' | 'service' | 'off';
    /** The provider that users sign in with: the organization's own or, with `service`, that of `OIDC_PROVIDER` in the environment of the command. Absent if there is none. */
    readonly issuer?: string;
    readonly client_id?: string;
    readonly scopes: string;
    readonly trust_email: boolean;
    readonly link_email: boolean;
    readonly create: boolean;
    readonly role_claim?: string;
    readonly admin_values: readonly (string)[];
    readonly auditor_values: readonly (string)[];
    readonly member_values: readonly (string)[];
    /** `admin` may do everything in its organization, `auditor` reads events, `member` sees only its own receipts. */
    readonly default_role?: 'admin' | 'auditor' | 'member';
    readonly passwords: boolean;
    /** When it was proven that an administrator can sign in this way. */
    readonly proven_at?: string;
    /** Redirect path to register at the provider, behind the address of the service. */
    readonly redirect_path: string;
  };
  readonly CliSignOns: readonly (CommandSchemas['CliSignOn'])[];
  /** RFC 3339 in UTC with three fraction digits. */
  readonly CliMoment: string;
  /** As `CliMoment`; null if there is none. */
  readonly CliMomentOrNull: string | null;
  /** `org create` */
  readonly CliNewOrganization: {
    readonly id: string;
    /** Short name of an organization, and the first part of its host. */
    readonly slug: string;
    readonly name: string;
  };
  /** `org show`, `org set`, `org hold`, `org release`, and each element of `org list` */
  readonly CliOrganization: {
    readonly id: string;
    /** Short name of an organization, and the first part of its host. */
    readonly slug: string;
    readonly name: string;
    /** A duration such as `90d`, `off` (never expire), or `default` (the service's `RETENTION`). */
    readonly retention: string;
    /** Days until events expire now; null if they never do. It follows `retention` once that deletes nothing or is confirmed. */
    readonly kept_days: number | null;
    /** When the hold began, and its reason; null without a hold. */
    readonly hold: {
      readonly since: CommandSchemas['CliMoment'];
      readonly reason: string;
    } | null;
    /** Number of events that the change would delete; with `--dry-run`, which changes nothing. */
    readonly would_remove?: number;
    readonly planned_removal?: {
      /** Number of expired events when the removal was planned. */
      readonly events: number;
      /** The events happened before this moment. */
      readonly before: string;
      /** How long servers must still run before the removal; 0 while it runs. */
      readonly in_seconds: number;
    };
    /** True if users see receipts of their own transfers. */
    readonly receipts: 'own' | 'off';
    readonly created_at: CommandSchemas['CliMoment'];
  };
  readonly CliOrganizations: readonly (CommandSchemas['CliOrganization'])[];
  /** `org delete`, and each element of `org deletions`; `--dry-run` changes nothing */
  readonly CliDeletion: {
    readonly id: string;
    /** Short name of an organization, and the first part of its host. */
    readonly slug: string;
    readonly name: string;
    readonly events: number;
    readonly users: number;
    readonly api_keys: number;
    /** The last signed checkpoint of its tree, a signed note. */
    readonly checkpoint: string | null;
    readonly operator: string;
    readonly started_at: CommandSchemas['CliMoment'];
    readonly finished_at: CommandSchemas['CliMomentOrNull'];
  };
  readonly CliDeletions: readonly (CommandSchemas['CliDeletion'])[];
  /** `version` */
  readonly CliVersion: {
    readonly version: string;
    /** Number of the newest migration that this release knows. */
    readonly migration: number;
    /** Format of the write-ahead log that this release writes, and the newest that it reads. */
    readonly log_format: number;
  };
  /** `status`: the server on the data directory. Values are null until it listens. */
  readonly CliStatus: {
    readonly running: boolean;
    readonly pid: number | null;
    readonly url: string | null;
    readonly started_at: string | null;
    /** `/readyz` is 200. */
    readonly ready: boolean;
    /** The checks of `/readyz`. */
    readonly checks: Readonly<Record<string, unknown>>;
  };
  /** `stop`: the process that ended. */
  readonly CliStop: {
    readonly pid: number;
  };
  /** `erase`: removes a person from stored events; without `--confirm`, nothing changes */
  readonly CliErasure: {
    /** Id of the erasure; null if nothing changed. */
    readonly id: string | null;
    readonly organization: string;
    /** Replaces the person; the same each time. */
    readonly pseudonym: string;
    /** Number of stored events with the person. */
    readonly events: number;
    /** SHA-256 over the list of changed events, in hex, as in the event 5016. */
    readonly digest: string | null;
    /** The organization's user with one of the addresses; null if there is none. */
    readonly account: {
      readonly id: string;
      readonly role: string;
      readonly erased: boolean;
    } | null;
    /** `begun`: a running server carries it out, or the next one that starts. */
    readonly state: 'counted' | 'begun' | 'finished';
    readonly finished_at: CommandSchemas['CliMomentOrNull'];
  };
  /** `init` */
  readonly CliInit: {
    readonly organization: CommandSchemas['CliNewOrganization'];
    /** E-mail address of the administrator. */
    readonly email: string;
    /** Password of the administrator; shown only once. */
    readonly password: string;
    /** An API key with the scopes read and write; shown only once. */
    readonly key: string;
  };
  /** `user create`, `user set-role` */
  readonly CliNewUser: {
    readonly id: string;
    /** Short name of an organization, and the first part of its host. */
    readonly organization: string;
    readonly email: string;
    readonly name: string;
    /** `admin` may do everything in its organization, `auditor` reads events, `member` sees only its own receipts. */
    readonly role: 'admin' | 'auditor' | 'member';
  };
  /** `user list` */
  readonly CliUsers: readonly ({
    readonly id: string;
    /** The slug; the id if the organization is deleted. */
    readonly organization: string;
    readonly email: string;
    readonly name: string;
    /** `admin` may do everything in its organization, `auditor` reads events, `member` sees only its own receipts. */
    readonly role: 'admin' | 'auditor' | 'member';
    readonly created_at: CommandSchemas['CliMoment'];
    readonly disabled_at: CommandSchemas['CliMomentOrNull'];
  })[];
  /** `user disable` */
  readonly CliDisabledUser: {
    readonly id: string;
    readonly disabled_at: CommandSchemas['CliMomentOrNull'];
  };
  /** `user set-password`, `user enable` */
  readonly CliUserPassword: {
    readonly id: string;
    readonly email: string;
  };
  /** `key create`, `key rotate` */
  readonly CliIssuedKey: {
    readonly id: string;
    /** The value of `X-API-Key`. A secret. */
    readonly key: string;
    /** The slug; null for a key of all organizations. */
    readonly organization: string | null;
    readonly scopes: readonly ('read' | 'write' | 'scim')[];
    readonly expires_at: CommandSchemas['CliMomentOrNull'];
  };
  /** `key list` */
  readonly CliKeys: readonly ({
    readonly id: string;
    readonly name: string;
    /** The slug; null for a key of all organizations. */
    readonly organization: string | null;
    readonly scopes: readonly ('read' | 'write' | 'scim')[];
    /** The key's own limit; null if the service's limit applies. */
    readonly rate_limit: string | null;
    readonly created_at: CommandSchemas['CliMoment'];
    readonly expires_at: CommandSchemas['CliMomentOrNull'];
    readonly revoked_at: CommandSchemas['CliMomentOrNull'];
  })[];
  /** `key revoke` */
  readonly CliRevokedKey: {
    readonly id: string;
    readonly revoked_at: CommandSchemas['CliMoment'];
  };
  /** `import` */
  readonly CliImport: {
    /** Processed lines of the file, in all runs. */
    readonly lines: number;
    readonly accepted: number;
    readonly rejected: number;
    /** Events accepted in this run. */
    readonly accepted_now: number;
    readonly rejected_now: number;
    /** Records skipped in this run because one with the same id was imported before. */
    readonly repeated_now: number;
    readonly seconds: number;
    /** The file with the rejected lines; null if there are none. */
    readonly rejected_file: string | null;
  };
  /** `export` to a file */
  readonly CliExport: {
    readonly file: string;
    readonly rows: number;
    readonly bytes: number;
    readonly sha256: string;
  };
  /** `export --partition-by day`: files by class and day, with their paths in the directory */
  readonly CliExportDirectory: {
    readonly directory: string;
    readonly rows: number;
    readonly bytes: number;
    readonly files: readonly ({
      readonly file: string;
      readonly rows: number;
      readonly bytes: number;
      readonly sha256: string;
    })[];
  };
  /** `summarize`: `start` and `end` come from the filters, otherwise from the first and the last event */
  readonly CliSummary: {
    readonly start?: string;
    readonly end?: string;
    readonly total: number;
    readonly failure: number;
    /** The preceding range of the same length, if retention kept all of it. */
    readonly previous?: {
      readonly start: string;
      readonly end: string;
      readonly total: number;
      readonly failure: number;
    };
    readonly statuses: readonly ({
      readonly status: string;
      readonly count: number;
    })[];
    readonly severities: readonly ({
      readonly severity: string;
      readonly count: number;
    })[];
    readonly activities: readonly ({
      readonly activity_id: number;
      readonly activity_name: string;
      readonly count: number;
    })[];
    readonly actors: readonly ({
      readonly email_addr: string;
      readonly name?: string;
      readonly count: number;
      readonly first_seen: string;
      readonly last_seen: string;
    })[];
    readonly addresses: readonly ({
      readonly ip: string;
      readonly count: number;
      readonly first_seen: string;
      readonly last_seen: string;
    })[];
    readonly files: readonly ({
      readonly name: string;
      readonly bytes: number;
      readonly count: number;
      readonly first_seen: string;
      readonly last_seen: string;
    })[];
    /** Number of events without a value, by filter. */
    readonly without: {
      readonly actor: number;
      readonly ip: number;
    };
  };
  /** `ocsf validate`; the first 1,000 faults */
  readonly CliOcsfValidation: {
    readonly events: number;
    readonly invalid: number;
    readonly faults: readonly ({
      /** From 1; in a list, the position there. */
      readonly line: number;
      readonly pointer: string;
      readonly rule: string;
    })[];
  };
  /** `demo` */
  readonly CliDemo: {
    readonly url: string;
    readonly events: number;
    readonly organizations: readonly ({
      /** Short name of an organization, and the first part of its host. */
      readonly organization: string;
      /** The value of `X-API-Key`. A secret. */
      readonly key: string;
      /** Findings among its events, with the filters that find them. */
      readonly clues: readonly ({
        readonly title: string;
        readonly query: {
          readonly actor?: string;
          readonly startTime?: string;
          readonly endTime?: string;
          readonly flowId?: string;
        };
      })[];
      readonly logins: readonly ({
        readonly email: string;
        /** `admin` may do everything in its organization, `auditor` reads events, `member` sees only its own receipts. */
        readonly role: 'admin' | 'auditor' | 'member';
        readonly password: string;
      })[];
    })[];
  };
  /** What `verify` checked and found. */
  readonly CliVerification: {
    /** Nothing contradicts the signed data. If `confirm` has entries that are not confirmed, the command still exits with 3. */
    readonly healthy: boolean;
    readonly origin: string;
    /** Number of checked events. */
    readonly events: number;
    /** Number of events that the largest checkpoint covers. */
    readonly covered: number;
    readonly findings: readonly ({
      readonly kind: 'altered' | 'missing' | 'added' | 'moved' | 'contradicted' | 'forked' | 'shorter' | 'unproven';
      readonly detail: string;
      readonly position?: number;
      readonly seq?: string;
      readonly time?: string;
    })[];
    /** Differences that a decision explains. Somebody must confirm that the decision was intended. */
    readonly confirm: readonly ({
      /** `older` is a file that was made before a kept checkpoint. */
      readonly kind: 'retention' | 'erasure' | 'older';
      readonly detail: string;
      /** Number of events that are deleted, changed, or not in the file. */
      readonly events: number;
      /** Position of the event that records the decision. */
      readonly position?: number;
      /** Identifies the decision, independent of the number of events. */
      readonly digest: string;
      /** `--confirmed` names it. */
      readonly confirmed: boolean;
    })[];
    readonly notes: readonly (string)[];
  };
  /** `backup` */
  readonly CliBackup: {
    readonly id: string;
    readonly place: string;
    /** The full backup that an incremental backup needs; null for a full one. */
    readonly base: string | null;
    /** The backup has everything that was acknowledged before this moment. */
    readonly moment: string;
    /** Number of events in the table when the copy began. */
    readonly events: number;
    readonly organizations: number;
    /** Names of the files with secrets in the backup. */
    readonly secrets: readonly (string)[];
    readonly files: number;
    /** Size of the tables, without those of the base backup. */
    readonly bytes: number;
    readonly notes: readonly (string)[];
  };
  /** `backup --verify` */
  readonly CliBackupCheck: {
    /** Every file is as it was written. */
    readonly healthy: boolean;
    readonly place: string;
    /** `events` of the last element of `backups`: the number that a restore returns. */
    readonly events: number;
    /** The backup, and before it the full backup that it needs. */
    readonly backups: readonly ({
      readonly id: string;
      readonly moment: string;
      readonly events: number;
      readonly bytes: number;
    })[];
    readonly findings: readonly ({
      readonly kind: 'missing' | 'altered';
      readonly backup: string;
      readonly path: string;
    })[];
  };
  /** `restore` */
  readonly CliRestore: {
    readonly id: string;
    readonly place: string;
    /** The backup had everything that was acknowledged before this moment. */
    readonly moment: string;
    /** Number of events in the table. The server's first start removes expired events without showing them. */
    readonly events: number;
    readonly organizations: number;
    readonly notes: readonly (string)[];
  };
  /** `doctor` */
  readonly CliExamination: {
    readonly healthy: boolean;
    readonly checks: readonly ({
      readonly name: string;
      /** `events`: stored data, where each finding is damage; `surroundings`: the host and the configuration. */
      readonly about: 'events' | 'surroundings';
      readonly healthy: boolean;
      /** Damage, or problems that need an operator. */
      readonly findings: readonly ({
        /** A file, part, partition, variable or other subject. A part of another table than that of events has the table's name before it. */
        readonly id: string;
        readonly detail: string;
        /** What to do. */
        readonly remedy: string;
      })[];
      /** Facts for the operator that are not new damage. */
      readonly notes: readonly (string)[];
    })[];
  };
  /** `doctor --detach`, `doctor --record-missing` */
  readonly CliLoss: {
    readonly loss: string;
    /** The detached part, if there is one. */
    readonly part: string | null;
    /** Number of lost events. */
    readonly events: number;
    /** Organizations of the events; null if unknown. */
    readonly organizations: readonly ({
      readonly id: string;
      readonly events: number;
    })[] | null;
  };
  /** `doctor --repair` */
  readonly CliControlData: {
    /** Rebuilt projections, as `table/part/name`. */
    readonly projections: readonly (string)[];
    /** Tables with detached parts. */
    readonly tables: readonly ({
      readonly table: string;
      /** Unreadable parts. */
      readonly parts_taken_out: readonly (string)[];
    })[];
    /** Missing or altered rows of the journal of control data. The control data without them is accepted. */
    readonly accepted: readonly ({
      readonly place: number;
      readonly detail: string;
      /** The organization of the row; null if unknown. */
      readonly organization: string | null;
    })[];
  };
}
