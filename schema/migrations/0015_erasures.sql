-- Persons who were taken out of the stored events of an organization: a row for each time, and what is left to tell that
-- an event was changed by that and by nothing else (src/tlog/erasure.ts).
CREATE TABLE IF NOT EXISTS erasures {{on_cluster}}
(
    id UUID,
    org UUID,
    pseudonym String COMMENT 'what stands in place of the person',
    operator String,
    events UInt64,
    digest String COMMENT 'SHA-256 over the list of events in erased_events, in hex',
    account UUID COMMENT 'of the user who was that person and was erased, too; the nil UUID: none',
    started_at DateTime64(6, 'UTC'),
    finished_at Nullable(DateTime64(6, 'UTC')),
    version UInt64,
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

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

-- What is to stand in the table of events, until it does; gone afterwards.
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
    ocsf String,
    source String,
    recorded DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(recorded)}}
ORDER BY (erasure, seq)
SETTINGS index_granularity = 256, fsync_after_insert = 1, fsync_part_directory = 1;
