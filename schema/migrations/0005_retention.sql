-- Removals from the table of events: retention, deleted organizations, erased persons, damage.

-- Expired events of an organization, which the service removes after servers have run for a day. The newest row counts.
-- `before` 0: no plan.
CREATE TABLE IF NOT EXISTS planned_removals {{on_cluster}}
(
    id UUID COMMENT 'id of the organization',
    before Int64 COMMENT 'events whose time is before it, Unix microseconds',
    events UInt64,
    due UInt64 COMMENT 'running time of the removal, milliseconds',
    version UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- Time that servers have run with these data, milliseconds, independent of clocks: the largest row counts.
CREATE TABLE IF NOT EXISTS running_time {{on_cluster}}
(
    id UInt8 COMMENT 'always 0',
    running UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(running)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- Removals, done or begun. Each row is written before its events are removed, so that the same removal continues after a crash, and
-- its events do not count as lost.
CREATE TABLE IF NOT EXISTS removals {{on_cluster}}
(
    id UUID,
    org UUID,
    partition String,
    rows UInt64,
    before Int64 COMMENT 'events whose time is before it, Unix microseconds',
    below UInt64 COMMENT 'events below this order number',
    done Bool,
    recorded DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(recorded)}}
ORDER BY (id, partition)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- Acknowledged losses, with the day on which the events would have expired: an operator detached a damaged part (`part`), or recorded
-- missing events (empty `part`). They do not count as missing.
CREATE TABLE IF NOT EXISTS acknowledged_losses {{on_cluster}}
(
    id UUID,
    part String,
    org UUID,
    expires Date,
    rows UInt64,
    recorded DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(recorded)}}
ORDER BY (id, org, expires)
TTL expires
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- The events of an erasure, with hashes that prove that nothing else changed them (src/tlog/erasure.ts).
CREATE TABLE IF NOT EXISTS erased_events {{on_cluster}}
(
    org UUID,
    erasure UUID,
    seq UInt64,
    before String COMMENT 'hash of the event before, in hex',
    after String COMMENT 'hash of the event now',
    recorded DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(recorded)}}
ORDER BY (org, erasure, seq)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- Changed events of an erasure, until the table of events has them. They contain texts of other persons, who may be erased at the
-- same time, so removed rows stay on the disk no longer than in the table of events.
CREATE TABLE IF NOT EXISTS erasure_rows {{on_cluster}}
(
    org UUID,
    erasure UUID,
    seq UInt64,
    activity_name String,
    actor_email String,
    actor_id String,
    names Array(String),
    file_hash Array(String),
    file_name String,
    target_name String,
    ocsf String,
    source String,
    recorded DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(recorded)}}
ORDER BY (erasure, seq)
SETTINGS index_granularity = 256, fsync_after_insert = 1, fsync_part_directory = 1,
  min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 120, max_cleanup_delay_period = 30;
