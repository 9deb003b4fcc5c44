-- One row an audit event. Narrow columns decide which rows answer a request; `ocsf` is what the answer is made of.
--
-- ocsf    the varying part of the event as JSON, from `"time":` to the opening of `metadata`; constants are added on reading
-- source  the event as its producer sent it
-- seq     ingest order, unique; a segment of the write-ahead log is a range of it
-- expires the day from which the row is deleted; the last day of the type stands for never
--
-- actor_email, actor_id, names and file_hash are lower-cased, because they are only matched, never shown.
--
-- The `by_` projections hold the row's position in its part, ordered otherwise, so a filter finds its rows without a
-- scan. The text indexes know the rows of each name and hash, which no projection can, as an event has several; the
-- engine answers `has()` from them and leaves the column unread. `hourly` is the exact count of each hour of each
-- organization, true to its part also after rows expire.
--
-- Parts as inserted keep their columns in one file: with projections, a part of many files costs the file system a
-- tenth of the insert.
--
-- Small granules and blocks: a page is a thousand rows, and what is read around them is waste. A segment is sent
-- again under its own token, which the window remembers. An acknowledged insert is on the disk; merged parts are
-- not fsynced, so their sources stay until the kernel has surely written them (old_parts_lifetime, seconds).
-- Parts hold organizations with different retention, so expired rows are removed by rewriting, not part by part.
CREATE TABLE IF NOT EXISTS {{sharded events}} {{on_cluster}} (
  org UUID CODEC(ZSTD(1)),
  time DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
  seq UInt64 CODEC(Delta, ZSTD(1)),
  activity_id Int64 CODEC(ZSTD(1)),
  activity_name LowCardinality(String),
  severity LowCardinality(String),
  status LowCardinality(String),
  level LowCardinality(String),
  result_code Int64 CODEC(ZSTD(1)),
  actor_email String CODEC(ZSTD(1)),
  actor_id String CODEC(ZSTD(1)),
  names Array(String) CODEC(ZSTD(1)),
  file_hash Array(String) CODEC(ZSTD(1)),
  flow_id UUID CODEC(ZSTD(1)),
  expires Date CODEC(ZSTD(1)),
  ocsf String CODEC(ZSTD(1)),
  source String CODEC(ZSTD(1)),
  INDEX names_rows names TYPE text(tokenizer = 'array'),
  INDEX file_hash_rows file_hash TYPE text(tokenizer = 'array'),
  PROJECTION by_actor (SELECT _part_offset ORDER BY org, actor_email, time),
  PROJECTION by_user (SELECT _part_offset ORDER BY org, actor_id, time),
  PROJECTION by_flow (SELECT _part_offset ORDER BY org, flow_id),
  PROJECTION by_seq (SELECT _part_offset ORDER BY org, seq),
  PROJECTION hourly (SELECT org, toStartOfHour(time), count() GROUP BY org, toStartOfHour(time))
) ENGINE = {{MergeTree}}
PARTITION BY toYYYYMM(time)
ORDER BY (org, time, seq)
TTL expires
SETTINGS index_granularity = 1024,
  min_compress_block_size = 16384,
  max_compress_block_size = 65536,
  min_bytes_for_wide_part = 67108864,
  non_replicated_deduplication_window = 1000,
  fsync_after_insert = 1,
  fsync_part_directory = 1,
  old_parts_lifetime = 480,
  ttl_only_drop_parts = 0;

{{distributed events by cityHash64(org)}};
