import { eventColumns } from '../../base/event-columns.ts';

/** A column of a table's key. `Micros` is a DateTime64(6), which travels as Unix microseconds. */
export interface KeyColumn {
  readonly name: string;
  readonly type: 'UUID' | 'UInt8' | 'UInt64' | 'String' | 'Date' | 'Micros';
}

/** A table whose rows are moved. */
export interface MovedTable {
  readonly name: string;
  /** In the order of the table, which tells rows apart. */
  readonly key: readonly KeyColumn[];
  readonly columns: readonly string[];
  /** Of rows with the same key the newest counts, so a row that is written again is there once. */
  readonly isReplacing: boolean;
  /** Rows that are compared, and copied, at once. */
  readonly rowsPerSlice: number;
  /** Condition of rows that have not expired after the day `{day:Date}`; the engine may remove others at any moment. */
  readonly alive: string;
}

const id: KeyColumn = { name: 'id', type: 'String' };
const idOfUuid: KeyColumn = { name: 'id', type: 'UUID' };
const org: KeyColumn = { name: 'org', type: 'UUID' };
const manyRows = 131_072;

function replacing(
  name: string,
  key: readonly KeyColumn[],
  columns: string,
  more: Partial<MovedTable> = {},
): MovedTable {
  const words = columns.trim().split(/\s+/);
  return { name, key, columns: words, isReplacing: true, rowsPerSlice: manyRows, alive: '1', ...more };
}

export const eventsTable: MovedTable = {
  name: 'events',
  key: [org, { name: 'time', type: 'Micros' }, { name: 'seq', type: 'UInt64' }],
  columns: Object.keys(eventColumns),
  isReplacing: false,
  rowsPerSlice: manyRows,
  // What has expired by a policy is removed by the service, which is followed (removed.ts).
  alive: '1',
};

/**
 * All else that is moved. Of the control tables all but `written`: that is the moment at which an engine was given a row,
 * and servers there look for what is new by it.
 */
export const otherTables: readonly MovedTable[] = [
  replacing(
    'organizations',
    [idOfUuid],
    'id slug name retention_days receipts created_at deleted_at version',
  ),
  replacing(
    'users',
    [idOfUuid],
    `id org email email_lower name role password_hash credential_version created_at disabled_at deleted_at version`,
  ),
  replacing(
    'api_keys',
    [id],
    `id org all_organizations name scopes secret_sha256 previous_secret_sha256 previous_valid_until rate_limit
     created_at expires_at revoked_at version`,
  ),
  // Their rows go a day after the session has expired.
  replacing(
    'sign_ons',
    [idOfUuid],
    `id provider issuer client_id client_secret scopes trust_email link_email create_users role_claim admin_values auditor_values
     member_values default_role passwords connected_at proven_at version`,
  ),
  replacing('user_identities', [idOfUuid], 'id org issuer subject linked_at external_id version'),
  replacing('ended_sessions', [id], 'id expires_at version', { alive: 'expires_at > {day:Date}' }),
  replacing('api_key_uses', [id], 'id used_at'),
  replacing('retention_policies', [idOfUuid], 'id days held_at hold_reason version'),
  replacing(
    'removals',
    [idOfUuid, { name: 'partition', type: 'String' }, { name: 'expires', type: 'Date' }],
    'id org partition expires rows before below done recorded',
  ),
  replacing(
    'deletions',
    [idOfUuid],
    'id slug name operator events users api_keys checkpoint started_at finished_at version',
  ),
  replacing(
    'acknowledged_losses',
    [idOfUuid, { name: 'partition', type: 'String' }, { name: 'expires', type: 'Date' }],
    'id part partition expires rows recorded',
    { alive: 'expires > {day:Date}' },
  ),
  // Gone after a day; of a claim's rows the highest state counts.
  replacing(
    'idempotency_keys',
    [id, { name: 'claim', type: 'UUID' }],
    'id claim instance state sent answer at',
    { alive: "at > toDateTime64({day:Date} + 1, 3, 'UTC')" },
  ),
  replacing(
    'erasures',
    [idOfUuid],
    'id org pseudonym operator events digest account started_at finished_at version',
  ),
  replacing(
    'erased_events',
    [org, { name: 'erasure', type: 'UUID' }, { name: 'seq', type: 'UInt64' }],
    'org erasure seq before after recorded',
  ),
  replacing('fenced_writers', [{ name: 'instance', type: 'UUID' }], 'instance id low operator fenced'),
  replacing('evidence_keys', [{ name: 'key', type: 'String' }], 'key statement added'),
  // A tile has up to 13 KB.
  replacing(
    'evidence_tiles',
    [org, { name: 'level', type: 'UInt8' }, { name: 'tile', type: 'UInt64' }],
    'org level tile width first_seq last_seq content',
    { rowsPerSlice: 4_096 },
  ),
  replacing('evidence_checkpoints', [org, { name: 'size', type: 'UInt64' }], 'org size note signed', {
    rowsPerSlice: 16_384,
  }),
  replacing('evidence_stopped', [org], 'org watermark stopped version'),
  replacing('evidence_progress', [{ name: 'id', type: 'UInt8' }], 'id watermark begun_before begun'),
];

/** Of a backup: also the plans of erasures that are under way, which a restored server goes on with. */
export const backupTables: readonly MovedTable[] = [
  ...otherTables,
  replacing(
    'erasure_rows',
    [
      { name: 'erasure', type: 'UUID' },
      { name: 'seq', type: 'UInt64' },
    ],
    'org erasure seq activity_name actor_email actor_id names file_hash ocsf source recorded',
  ),
];

/**
 * Tables that stay behind, each with the reason. What lives there are promises of processes on that engine: who writes
 * under which number, who migrates, who builds trees. Each process makes them anew where it works next. The one promise
 * that outlives its process, events that wait in a log, is put down at the target by the last run (see `finish.ts`).
 */
export const leftTables: Readonly<Record<string, string>> = {
  schema_migrations: 'the target makes its tables itself',
  data_moves: 'of this engine',
  leases: 'of processes: they take a number where they work, and all numbers of the order are by the clock',
  watermarks: 'of processes',
  watermark_owners: 'of processes',
  writer_runs: 'of processes: who is alive says so every few seconds',
  erasure_rows: 'of erasures that are under way: a move is finished when there are none',
};
