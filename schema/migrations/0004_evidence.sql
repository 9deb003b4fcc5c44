-- Of each organization a Merkle tree over its events in the order of ingest (docs/evidence.md).
--
-- The tree in tiles of 256 (C2SP tlog-tiles). A row of level 0 has the entries of up to 256 events, from which the
-- hashes of the leaves follow; a row above has the hashes of full tiles below. A tile that grows is written again, and
-- the widest one counts. Entries stay when retention removes their events. Few rows a granule, as one is read at a time.
CREATE TABLE IF NOT EXISTS evidence_tiles {{on_cluster}}
(
    org UUID,
    level UInt8,
    tile UInt64,
    width UInt16,
    first_seq UInt64 COMMENT 'of the first and the last entry; 0 above level 0',
    last_seq UInt64,
    content String CODEC(ZSTD(1))
)
ENGINE = {{ReplacingMergeTree(width)}}
ORDER BY (org, level, tile)
SETTINGS index_granularity = 16, fsync_after_insert = 1, fsync_part_directory = 1;

-- Every checkpoint that was signed: a signed note on the first `size` leaves of an organization's tree.
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

-- One row: all events below `watermark` are in their trees; those below `begun_before` were in the table before the
-- first tree was begun, at `begun`.
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

-- Trees that stand still while those of all others go on: an organization whose stored events contradict a checkpoint, or
-- cannot be read. What is below `watermark` is in its tree; the newest row counts.
CREATE TABLE IF NOT EXISTS evidence_stopped {{on_cluster}}
(
    org UUID,
    watermark UInt64,
    stopped Bool COMMENT 'false: it has gone on since',
    version UInt64
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY org
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- The public keys that sign checkpoints, the newest last; each but the first with a note by the key before it.
CREATE TABLE IF NOT EXISTS evidence_keys {{on_cluster}}
(
    key String,
    statement String,
    added DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{ReplacingMergeTree(added)}}
ORDER BY key
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
