-- A Merkle tree for each organization over its events in the order of ingest (docs/evidence.md).
--
-- Tiles of 256 (C2SP tlog-tiles). A row of level 0 has the entries of up to 256 events, which give the hashes of the leaves. A
-- higher row has the hashes of full tiles below. A growing tile is written again, and the widest one counts. Entries stay when retention
-- removes their events. Granules have few rows, as reads need one at a time.
CREATE TABLE IF NOT EXISTS evidence_tiles {{on_cluster}}
(
    org UUID,
    level UInt8,
    tile UInt64,
    width UInt16,
    first_seq UInt64 COMMENT 'of the first entry, `last_seq` of the last; 0 above level 0',
    last_seq UInt64,
    content String CODEC(ZSTD(1))
)
ENGINE = {{ReplacingMergeTree(width)}}
ORDER BY (org, level, tile)
SETTINGS index_granularity = 16, fsync_after_insert = 1, fsync_part_directory = 1;

-- Every signed checkpoint: a signed note on the first `size` leaves of an organization's tree.
CREATE TABLE IF NOT EXISTS evidence_checkpoints {{on_cluster}}
(
    org UUID,
    size UInt64,
    note String CODEC(ZSTD(1)),
    signed DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(signed)}}
ORDER BY (org, size)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- One row: all events below `watermark` are in their trees; those below `begun_before` were stored before the first tree began, at
-- `begun`.
CREATE TABLE IF NOT EXISTS evidence_progress {{on_cluster}}
(
    id UInt8,
    watermark UInt64,
    begun_before UInt64,
    begun DateTime64(6, 'UTC')
)
ENGINE = {{ReplacingMergeTree(watermark)}}
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- Stopped trees, while all others continue: the organization's stored events contradict a checkpoint, or cannot be read. Events
-- below `watermark` are in the tree; the newest row counts.
CREATE TABLE IF NOT EXISTS evidence_stopped {{on_cluster}}
(
    org UUID,
    watermark UInt64,
    stopped Bool COMMENT 'false: it continues',
    version UInt64
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY org
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- The public keys that sign checkpoints, newest last; each but the first has a note that the previous key signed.
CREATE TABLE IF NOT EXISTS evidence_keys {{on_cluster}}
(
    key String,
    statement String,
    added DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(added)}}
ORDER BY key
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
