-- Rows of the table of events that are known to be lost, with the day that they would have expired on: what an operator
-- has taken out as damaged (`part`), or has recorded as missing (`part` is empty). The ledger beside the table counts
-- them as known.
CREATE TABLE IF NOT EXISTS holes {{on_cluster}}
(
    id UUID,
    part String,
    partition String,
    expires Date,
    rows UInt64,
    recorded DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(recorded)}}
ORDER BY (id, partition, expires)
TTL expires
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
