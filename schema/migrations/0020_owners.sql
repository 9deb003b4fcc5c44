-- Works from: 0019
--
-- Trees of evidence that stand still while those of all others go on: an organization whose stored events contradict a
-- checkpoint, or cannot be read. What is below `settled` is in its tree; the newest row counts.
CREATE TABLE IF NOT EXISTS evidence_stopped {{on_cluster}}
(
    org UUID,
    settled UInt64,
    stopped Bool COMMENT 'false: it has gone on since',
    version UInt64
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY org
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- Which command has a claim in `watermarks`: the process, where that can be looked at, and which number it has taken. A
-- table of its own: to add columns to that one would take a right that servers have not been granted.
CREATE TABLE IF NOT EXISTS watermark_owners {{on_cluster}}
(
    writer UUID,
    place String COMMENT 'of the boot of a machine and its processes, or of a container in it',
    host String,
    pid UInt32,
    begun String COMMENT 'when the process began, as the system counts it',
    segment UInt64 COMMENT 'that it may be storing; 0: none yet',
    written DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(written)}}
ORDER BY writer
TTL toDateTime(written) + INTERVAL 30 DAY;
