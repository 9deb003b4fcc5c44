import { eventColumns } from '../base/events/event-columns.ts';

/** A table whose rows are in a backup. */
export interface KeptTable {
  readonly name: string;
  readonly columns: readonly string[];
}

export const eventsTable: KeptTable = { name: 'events', columns: Object.keys(eventColumns) };

/**
 * All else that is kept: of rows with the same key the newest counts. Of the control tables all columns but `written`, the
 * moment at which an engine was given a row: servers there look for what is new by it.
 */
const otherColumns: Readonly<Record<string, string>> = {
  organizations: `id slug name retention_days receipts created_at deleted_at version`,
  users: `id org email email_lower name role password_hash credential_version created_at disabled_at deleted_at
    version`,
  api_keys: `id org all_organizations name scopes secret_sha256 previous_secret_sha256 previous_valid_until
    rate_limit created_at expires_at revoked_at version`,
  sign_ons: `id provider issuer client_id client_secret scopes trust_email link_email create_users role_claim
    admin_values auditor_values member_values default_role passwords connected_at proven_at version`,
  user_identities: `id org issuer subject linked_at external_id version`,
  ended_sessions: `id expires_at version`,
  api_key_uses: `id used_at`,
  retention_policies: `id days held_at hold_reason version`,
  removals: `id org partition expires rows before below done recorded`,
  deletions: `id slug name operator events users api_keys checkpoint started_at finished_at version`,
  acknowledged_losses: `id part org expires rows recorded`,
  erasures: `id org pseudonym operator events digest account started_at finished_at version`,
  erased_events: `org erasure seq before after recorded`,
  fenced_writers: `instance id low operator fenced`,
  evidence_keys: `key statement added`,
  evidence_tiles: `org level tile width first_seq last_seq content`,
  evidence_checkpoints: `org size note signed`,
  evidence_stopped: `org watermark stopped version`,
  evidence_progress: `id watermark begun_before begun`,
  // The plans of erasures that are under way, which a restored server goes on with.
  erasure_rows: `org erasure seq activity_name actor_email actor_id names file_hash ocsf source recorded`,
};

export const otherTables: readonly KeptTable[] = Object.entries(otherColumns).map(([name, columns]) => ({
  name,
  columns: columns.split(/\s+/),
}));

/**
 * Tables that stay behind, each with the reason. What lives there are promises of processes on that engine: who writes
 * under which number, who builds trees. Each process makes them anew where it works next.
 */
export const leftTables: Readonly<Record<string, string>> = {
  schema_migrations: 'each engine makes its tables itself',
  leases: 'of processes: they take a number where they work, and all numbers of the order are by the clock',
  watermarks: 'of processes',
  planned_removals: 'a restored server plans anew, so that somebody can see the plan',
  running_time: 'of servers on that engine',
};
