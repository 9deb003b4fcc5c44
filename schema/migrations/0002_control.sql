-- Organizations, users and API keys: small tables, one row for each write, read with FINAL so that the row with the
-- highest version (Unix microseconds of the write) counts. `written` is the engine's own clock: processes that keep
-- these tables in memory ask for what was written since they last looked.

CREATE TABLE IF NOT EXISTS organizations {{on_cluster}}
(
    id UUID,
    slug String,
    name String,
    retention_days Nullable(UInt32) COMMENT 'NULL: the default of the service; 0: kept for ever',
    receipts LowCardinality(String) COMMENT 'own: users see their own receipts; off: nobody does',
    created_at DateTime64(6, 'UTC'),
    deleted_at Nullable(DateTime64(6, 'UTC')),
    version UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS users {{on_cluster}}
(
    id UUID,
    org UUID,
    email String COMMENT 'as it was given',
    email_lower String,
    name String,
    role LowCardinality(String) COMMENT 'admin, auditor or member',
    password_hash String COMMENT 'argon2id',
    credential_version UInt32 COMMENT 'sessions that carry another number have ended',
    created_at DateTime64(6, 'UTC'),
    disabled_at Nullable(DateTime64(6, 'UTC')),
    deleted_at Nullable(DateTime64(6, 'UTC')),
    version UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS api_keys {{on_cluster}}
(
    id String,
    org UUID COMMENT 'the nil UUID for a key of all organizations',
    all_organizations Bool,
    name String,
    scopes Array(LowCardinality(String)) COMMENT 'read, write',
    secret_sha256 String COMMENT 'hexadecimal, of the whole key',
    previous_secret_sha256 String COMMENT 'of the key before the last rotation, or empty',
    previous_valid_until Nullable(DateTime64(6, 'UTC')),
    rate_limit String COMMENT 'requests/window, or empty for the default of the service',
    created_at DateTime64(6, 'UTC'),
    expires_at Nullable(DateTime64(6, 'UTC')),
    revoked_at Nullable(DateTime64(6, 'UTC')),
    version UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS ended_sessions {{on_cluster}}
(
    id String COMMENT 'jti of a session that was ended before it expired',
    expires_at DateTime64(6, 'UTC'),
    version UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY id
TTL toDateTime(expires_at) + INTERVAL 1 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
