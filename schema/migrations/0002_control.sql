-- Control data: small tables, one row for each write, read with FINAL so that the row with the highest version (Unix
-- microseconds of the write) counts. `written` is the engine's own clock: processes that keep these tables in memory ask
-- for what was written since they last looked.

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
-- Of an erased account nothing may stay longer than of its events.
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
  min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 120, max_cleanup_delay_period = 30;

-- By what users are known elsewhere. A table of its own: most users are known nowhere else.
CREATE TABLE IF NOT EXISTS user_identities {{on_cluster}}
(
    id UUID COMMENT 'of the user',
    org UUID,
    issuer String COMMENT 'of the provider that the user signs in by, or empty',
    subject String,
    linked_at Nullable(DateTime64(6, 'UTC')),
    external_id String COMMENT 'of the directory that provisions the user by SCIM, or empty',
    version UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
  min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 120, max_cleanup_delay_period = 30;

-- How people of an organization sign in by a provider of OpenID Connect, and whether passwords are good there. A row for
-- each organization that has said anything of it.
CREATE TABLE IF NOT EXISTS sign_ons {{on_cluster}}
(
    id UUID COMMENT 'of the organization',
    provider LowCardinality(String) COMMENT 'own: the one below; service: the one of the configuration; off: none',
    issuer String,
    client_id String,
    client_secret String COMMENT 'encrypted with a key derived from SESSION_SECRET',
    scopes String,
    trust_email Bool COMMENT 'addresses without email_verified count as verified',
    link_email Bool COMMENT 'a verified address finds a user who is not linked to an identity yet',
    create_users Bool COMMENT 'whoever the provider vouches for becomes a user',
    role_claim String COMMENT 'empty: roles are what they are here',
    admin_values Array(String),
    auditor_values Array(String),
    member_values Array(String),
    default_role LowCardinality(String) COMMENT 'empty: who has none of the values is refused',
    passwords Bool,
    connected_at DateTime64(6, 'UTC') COMMENT 'identities linked before this may be linked anew',
    proven_at Nullable(DateTime64(6, 'UTC')) COMMENT 'an administrator has signed in by it',
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

-- When API keys were last used, as far as each process has told: the newest time of an id counts. A table of its own, so
-- that a key's row changes only when somebody changes the key.
CREATE TABLE IF NOT EXISTS api_key_uses {{on_cluster}}
(
    id String,
    used_at DateTime64(6, 'UTC')
)
ENGINE = {{ReplacingMergeTree(used_at)}}
ORDER BY id;

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
