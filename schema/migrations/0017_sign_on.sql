-- How people of an organization sign in by a provider of OpenID Connect, and whether passwords are good there. A row for
-- each organization that has said anything of it. `client_secret` is encrypted with a key derived from SESSION_SECRET.
CREATE TABLE IF NOT EXISTS sign_ons {{on_cluster}}
(
    id UUID COMMENT 'of the organization',
    provider LowCardinality(String) COMMENT 'own: the one below; service: the one of the configuration; off: none',
    issuer String,
    client_id String,
    client_secret String,
    scopes String,
    trust_email Bool COMMENT 'addresses without email_verified count as verified',
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

-- By what users are known elsewhere. A table of its own: to add columns to that of users would take a right that servers
-- have not been granted.
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
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
