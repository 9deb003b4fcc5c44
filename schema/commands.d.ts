/** Types of the schemas in commands.yaml, made by `npm run openapi`. */
export interface CommandSchemas {
  /** `sign-on set`, and each of `sign-on list` */
  readonly CliSignOn: {
    /** Short name of an organization, also the first part of its host. */
    readonly organization: string;
    readonly provider: 'own' | 'service' | 'off';
    /** The provider by which people sign in: its own one or, with `service`, the one of `OIDC_PROVIDER` in the environment of the command. Left out where there is none. */
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
    /** `admin` may do everything in its organization, `auditor` reads events, `member` sees receipts of its own. */
    readonly default_role?: 'admin' | 'auditor' | 'member';
    readonly passwords: boolean;
    /** Since when it is known that an administrator can sign in this way. */
    readonly proven_at?: string;
    /** What is entered at the provider, behind the address of the service. */
    readonly redirect_path: string;
  };
  readonly CliSignOns: readonly (CommandSchemas['CliSignOn'])[];
  /** RFC 3339 in UTC with three fraction digits. */
  readonly CliMoment: string;
  /** As `CliMoment`; null where there is none. */
  readonly CliMomentOrNull: string | null;
  /** `org create` */
  readonly CliNewOrganization: {
    readonly id: string;
    /** Short name of an organization, also the first part of its host. */
    readonly slug: string;
    readonly name: string;
  };
  /** `org show`, `org set`, `org hold`, `org release`, and each of `org list` */
  readonly CliOrganization: {
    readonly id: string;
    /** Short name of an organization, also the first part of its host. */
    readonly slug: string;
    readonly name: string;
    /** A duration such as `90d`, `off` (for ever), or `default` (as the service is configured). */
    readonly retention: string;
    /** For how many days events are kept now; null: for ever. It follows `retention` where that removes nothing, or once it was confirmed. */
    readonly kept_days: number | null;
    /** Since when and why nothing of it is removed; null where it is not held. */
    readonly hold: {
      readonly since: CommandSchemas['CliMoment'];
      readonly reason: string;
    } | null;
    /** With `--dry-run`, which changes nothing. */
    readonly would_remove?: number;
    readonly planned_removal?: {
      /** Expired events when the removal was planned. */
      readonly events: number;
      /** They happened before this moment. */
      readonly before: string;
      /** How much longer servers have to run before it; 0 while it is under way. */
      readonly in_seconds: number;
    };
    /** Whether users see receipts of their own transfers. */
    readonly receipts: 'own' | 'off';
    readonly created_at: CommandSchemas['CliMoment'];
  };
  readonly CliOrganizations: readonly (CommandSchemas['CliOrganization'])[];
  /** `org delete`, and each of `org deletions`; with `--dry-run` nothing is changed */
  readonly CliDeletion: {
    readonly id: string;
    /** Short name of an organization, also the first part of its host. */
    readonly slug: string;
    readonly name: string;
    readonly events: number;
    readonly users: number;
    readonly api_keys: number;
    /** The last that was signed of its tree, a signed note. */
    readonly checkpoint: string | null;
    readonly operator: string;
    readonly started_at: CommandSchemas['CliMoment'];
    readonly finished_at: CommandSchemas['CliMomentOrNull'];
  };
  readonly CliDeletions: readonly (CommandSchemas['CliDeletion'])[];
  /** `version` */
  readonly CliVersion: {
    readonly version: string;
    /** Number of the newest migration of the tables that this release knows. */
    readonly migration: number;
    /** Newest format of the write-ahead log that this release reads; it writes this one. */
    readonly log_format: number;
  };
  /** `status`: the server on the data directory. Null is what is not known until it listens. */
  readonly CliStatus: {
    readonly running: boolean;
    readonly pid: number | null;
    readonly url: string | null;
    readonly started_at: string | null;
    /** `/readyz` is 200. */
    readonly ready: boolean;
    /** Those of `/readyz`. */
    readonly checks: Readonly<Record<string, unknown>>;
  };
  /** `stop`: the process that has ended. */
  readonly CliStop: {
    readonly pid: number;
  };
  /** `erase`: one person out of stored events; without `--confirm` nothing is changed */
  readonly CliErasure: {
    /** Of the erasure; null where nothing was changed. */
    readonly id: string | null;
    readonly organization: string;
    /** What stands for the person, the same each time. */
    readonly pseudonym: string;
    /** How many stored events have the person. */
    readonly events: number;
    /** SHA-256 over the list of changed events, in hex; the event 5016 says it. */
    readonly digest: string | null;
    /** The user of the organization with one of the addresses; null where there is none. */
    readonly account: {
      readonly id: string;
      readonly role: string;
      readonly erased: boolean;
    } | null;
    /** `begun`: a server carries it out, or the next one that is started. */
    readonly state: 'counted' | 'begun' | 'finished';
    readonly finished_at: CommandSchemas['CliMomentOrNull'];
  };
  /** `init` */
  readonly CliInit: {
    readonly organization: CommandSchemas['CliNewOrganization'];
    /** Of the administrator. */
    readonly email: string;
    /** Of the administrator; shown this once only. */
    readonly password: string;
    /** An API key with the scopes read and write; shown this once only. */
    readonly key: string;
  };
  /** `user create`, `user set-role` */
  readonly CliNewUser: {
    readonly id: string;
    /** Short name of an organization, also the first part of its host. */
    readonly organization: string;
    readonly email: string;
    readonly name: string;
    /** `admin` may do everything in its organization, `auditor` reads events, `member` sees receipts of its own. */
    readonly role: 'admin' | 'auditor' | 'member';
  };
  /** `user list` */
  readonly CliUsers: readonly ({
    readonly id: string;
    /** The slug; the id where the organization is gone. */
    readonly organization: string;
    readonly email: string;
    readonly name: string;
    /** `admin` may do everything in its organization, `auditor` reads events, `member` sees receipts of its own. */
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
    /** What goes into `X-API-Key`. A secret. */
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
    /** A limit of its own; null where the service's holds. */
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
    /** Lines of the file that are done, in all runs. */
    readonly lines: number;
    readonly accepted: number;
    readonly rejected: number;
    /** Of this run. */
    readonly accepted_now: number;
    readonly rejected_now: number;
    /** Records of this run that were left out, as one with the same id was imported before. */
    readonly repeated_now: number;
    readonly seconds: number;
    /** The file with the lines that were rejected; null where there is none. */
    readonly rejected_file: string | null;
  };
  /** `export` to a file */
  readonly CliExport: {
    readonly file: string;
    readonly rows: number;
    readonly bytes: number;
    readonly sha256: string;
  };
  /** `export --partition-by day`: files by class and day, each by its path in the directory */
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
  /** `summarize`: `start` and `end` are those of the filters, else the first and the last event */
  readonly CliSummary: {
    readonly start?: string;
    readonly end?: string;
    readonly total: number;
    readonly failure: number;
    /** the range of the same length before, if retention has all of it */
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
    /** how many events have no value, by filter */
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
      /** From 1; in a list, the place there. */
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
      /** Short name of an organization, also the first part of its host. */
      readonly organization: string;
      /** What goes into `X-API-Key`. A secret. */
      readonly key: string;
      /** What there is to find among its events, and the filters that find it. */
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
        /** `admin` may do everything in its organization, `auditor` reads events, `member` sees receipts of its own. */
        readonly role: 'admin' | 'auditor' | 'member';
        readonly password: string;
      })[];
    })[];
  };
  /** What `verify` looked at and found. */
  readonly CliVerification: {
    /** Nothing contradicts what was signed. `confirm` may still name something that is not confirmed, and then the command ends with 3. */
    readonly healthy: boolean;
    readonly origin: string;
    /** Events that were looked at. */
    readonly events: number;
    /** Events that the largest checkpoint covers. */
    readonly covered: number;
    readonly findings: readonly ({
      readonly kind: 'altered' | 'missing' | 'added' | 'moved' | 'contradicted' | 'forked' | 'shorter' | 'unproven';
      readonly detail: string;
      readonly position?: number;
      readonly seq?: string;
      readonly time?: string;
    })[];
    /** What a decision explains, of which somebody has to say that it was to be. */
    readonly confirm: readonly ({
      /** `older` is a file that was made before a kept checkpoint. */
      readonly kind: 'retention' | 'erasure' | 'older';
      readonly detail: string;
      /** That are gone, were changed, or are not in the file. */
      readonly events: number;
      /** The place of the event that says so. */
      readonly position?: number;
      /** Names the decision, however many events it has come to explain. */
      readonly digest: string;
      /** `--confirmed` has named it. */
      readonly confirmed: boolean;
    })[];
    readonly notes: readonly (string)[];
  };
  /** `backup` */
  readonly CliBackup: {
    readonly id: string;
    readonly place: string;
    /** The full backup that this one stands on; null where it is one. */
    readonly base: string | null;
    /** Whatever was acknowledged before is in it. */
    readonly moment: string;
    /** Events of the table when the engine began to copy them. */
    readonly events: number;
    readonly organizations: number;
    /** Names of the files with secrets that are in it. */
    readonly secrets: readonly (string)[];
    readonly files: number;
    /** Of the tables, without those of the backup that it stands on. */
    readonly bytes: number;
    readonly notes: readonly (string)[];
  };
  /** `backup --verify` */
  readonly CliBackupCheck: {
    /** Every file is what was written. */
    readonly healthy: boolean;
    readonly place: string;
    /** As `events` of the last of `backups`, which is what a restore brings back. */
    readonly events: number;
    /** The backup; before it the full one that it stands on. */
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
    /** Whatever was acknowledged before was in the backup. */
    readonly moment: string;
    /** Events of the table; the server's first start removes what has expired, and shows it to nobody. */
    readonly events: number;
    readonly organizations: number;
    readonly notes: readonly (string)[];
  };
  /** `doctor` */
  readonly CliExamination: {
    readonly healthy: boolean;
    readonly checks: readonly ({
      readonly name: string;
      /** What is stored (a finding is damage), or what the service stands on. */
      readonly about: 'events' | 'surroundings';
      readonly healthy: boolean;
      /** What is damaged, or needs somebody. */
      readonly findings: readonly ({
        /** A file, a part (of another table than that of events with the table's name before it), a partition, a variable, or what else it is about. */
        readonly id: string;
        readonly detail: string;
        /** What to do. */
        readonly remedy: string;
      })[];
      /** What the operator should know, and is no new damage. */
      readonly notes: readonly (string)[];
    })[];
  };
  /** `doctor --detach`, `doctor --record-missing` */
  readonly CliLoss: {
    readonly loss: string;
    /** The part that was taken out, if one was. */
    readonly part: string | null;
    /** How many are lost. */
    readonly events: number;
    /** Whose they were; null where that cannot be told. */
    readonly organizations: readonly ({
      readonly id: string;
      readonly events: number;
    })[] | null;
  };
  /** `doctor --repair` */
  readonly CliControlData: {
    /** Projections that were damaged and were made anew, as `table/part/name`. */
    readonly projections: readonly (string)[];
    /** Tables of which something was taken out. */
    readonly tables: readonly ({
      readonly table: string;
      /** Parts that could not be read. */
      readonly parts_taken_out: readonly (string)[];
    })[];
    /** Rows of the journal of control data that are missing or altered; what is known without them counts again. */
    readonly accepted: readonly ({
      readonly place: number;
      readonly detail: string;
      /** Whom it was about; null where that cannot be told. */
      readonly organization: string | null;
    })[];
  };
}
