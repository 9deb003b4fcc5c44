-- Retention that can be changed: not the day that a row was recorded with decides when it goes, but what its
-- organization's policy says today. The step of this file takes the table's TTL away (src/storage/remove-ttl.ts).
--
-- What is kept of an organization, and whether it is held: the newest row counts. No row: everything is kept.
CREATE TABLE IF NOT EXISTS retention_policies {{on_cluster}}
(
    id UUID COMMENT 'of the organization',
    days Nullable(UInt32) COMMENT 'NULL: for ever',
    held_at Nullable(DateTime64(6, 'UTC')) COMMENT 'not NULL: nothing is removed, whatever days says',
    hold_reason String,
    version UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- What the service has removed, or is about to: written before rows go, so that whoever takes up the work after a crash
-- removes the same ones, and the ledger beside the table of events never takes them for lost.
CREATE TABLE IF NOT EXISTS removals {{on_cluster}}
(
    id UUID,
    org UUID,
    partition String,
    expires Date COMMENT 'of the rows, as the ledger counts them',
    rows UInt64,
    before Int64 COMMENT 'events whose time is before it, Unix microseconds',
    below UInt64 COMMENT 'events below this place of the order of ingest',
    done Bool,
    recorded DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(recorded)}}
ORDER BY (id, partition, expires)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- Organizations that were deleted: what there was, and the last checkpoint that was signed of it.
CREATE TABLE IF NOT EXISTS deletions {{on_cluster}}
(
    id UUID COMMENT 'of the organization',
    slug String,
    name String,
    operator String,
    events UInt64,
    users UInt64,
    api_keys UInt64,
    checkpoint String COMMENT 'signed note; empty where there was none',
    started_at DateTime64(6, 'UTC'),
    finished_at Nullable(DateTime64(6, 'UTC')),
    version UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
