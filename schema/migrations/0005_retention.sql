-- What leaves the table of events, and why: retention, deleted organizations, erased persons, damage.

-- What a policy has expired of an organization and the service will remove, once servers have run for a day since:
-- the newest row counts. `before` 0: nothing is planned.
CREATE TABLE IF NOT EXISTS planned_removals {{on_cluster}}
(
    id UUID COMMENT 'of the organization',
    before Int64 COMMENT 'events whose time is before it, Unix microseconds',
    events UInt64,
    due UInt64 COMMENT 'the running time from which they are removed, milliseconds',
    version UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- How long servers have run with these data, milliseconds: the largest row counts. No clock that is set changes it.
CREATE TABLE IF NOT EXISTS running_time {{on_cluster}}
(
    id UInt8 COMMENT 'always 0',
    running UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(running)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- What the service has removed, or is about to: written before rows go, so that whoever takes up the work after a crash
-- removes the same ones, and nothing takes them for lost.
CREATE TABLE IF NOT EXISTS removals {{on_cluster}}
(
    id UUID,
    org UUID,
    partition String,
    rows UInt64,
    before Int64 COMMENT 'events whose time is before it, Unix microseconds',
    below UInt64 COMMENT 'events below this place of the order of ingest',
    done Bool,
    recorded DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(recorded)}}
ORDER BY (id, partition)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- Events that are known to be lost, with the day that they would have expired on: an operator has taken them out as damaged
-- (`part`), or has recorded them as missing (`part` is empty). The count of missing events leaves them out.
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

-- The events of an erasure, and what is left to tell that each was changed by that and by nothing else (src/tlog/erasure.ts).
CREATE TABLE IF NOT EXISTS erased_events {{on_cluster}}
(
    org UUID,
    erasure UUID,
    seq UInt64,
    before String COMMENT 'SHA-256 of the source event as it was, in hex',
    after String COMMENT 'as it is now',
    recorded DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(recorded)}}
ORDER BY (org, erasure, seq)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- What is to stand in the table of events, until it does; gone afterwards. It has texts of other persons, who may be erased
-- at the same time, so what was removed stays on the disk no longer than in the table of events.
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
