-- Control data: every change of organizations, users, keys and what belongs to them is one row, with the audit events that tell
-- it. Servers fold the rows into memory in the order of their places (src/control/journal.ts).

CREATE TABLE IF NOT EXISTS journal {{on_cluster}}
(
    place UInt64 COMMENT '1, 2, 3 without a gap',
    id UUID COMMENT 'of the call that made the change',
    org UUID COMMENT 'the nil UUID: of no organization alone',
    server UUID COMMENT 'that hands the events to ingest; the nil UUID: the only one',
    parts String COMMENT 'JSON: what records are from now on',
    parts_sha256 String COMMENT 'as it was written, in hex',
    events String COMMENT 'JSON: source events that tell the change',
    events_sha256 String,
    previous String COMMENT 'digest of the row before, in hex',
    erased Bool COMMENT 'texts were erased with a person or an organization'
)
ENGINE = {{MergeTree everywhere}}
ORDER BY place
-- A place is taken once: the engine remembers the tokens of so many INSERTs. Of what was erased nothing may stay longer than of events.
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1,
  min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 120, max_cleanup_delay_period = 30;

-- When API keys were last used, as far as each process has told: the newest time of an id counts. A table of its own, so
-- that a key's row changes only when somebody changes the key.
CREATE TABLE IF NOT EXISTS api_key_uses {{on_cluster}}
(
    id String,
    used_at DateTime64(6, 'UTC')
)
ENGINE = {{ReplacingMergeTree(used_at)}}
ORDER BY id;
