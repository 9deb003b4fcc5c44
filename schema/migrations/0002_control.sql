-- Control data: each change of organizations, users and keys is one row, with its audit events. Servers apply the rows in the order
-- of `place` (src/control/journal.ts).

CREATE TABLE IF NOT EXISTS journal {{on_cluster}}
(
    place UInt64 COMMENT '1, 2, 3 without a gap',
    id UUID COMMENT 'id of the call that made the change',
    org UUID COMMENT 'nil UUID: not of one organization',
    server UUID COMMENT 'server that passes the events to ingest; nil UUID: the only one; ffffffff-…: a command, whose events a server takes over',
    parts String COMMENT 'JSON: the new records',
    parts_sha256 String COMMENT 'of the written text, in hex',
    events String COMMENT 'JSON: source events of the change',
    events_sha256 String,
    previous String COMMENT 'digest of the previous row, in hex',
    erased Bool COMMENT 'texts were erased with a person or an organization'
)
ENGINE = {{MergeTree everywhere}}
ORDER BY place
-- Each place is used once: the engine remembers the tokens of this many INSERTs. Erased texts stay no longer than those of events.
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1,
  min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 120, max_cleanup_delay_period = 30;

-- Last uses of API keys, as processes report them: the newest time of an id counts. A separate table, so that a use does not change
-- the key.
CREATE TABLE IF NOT EXISTS api_key_uses {{on_cluster}}
(
    id String,
    used_at DateTime64(6, 'UTC')
)
ENGINE = {{ReplacingMergeTree(used_at)}}
ORDER BY id;
