-- The events table anew, in partitions by the month in which events were recorded instead of the month of their own
-- time. That month is computed from `seq` (src/ingest/sequence.ts: from bit 26 on it counts 10 ms since 2020-01-01).
-- The rows of one INSERT are one segment, with one number: so they are always one part, whatever times producers
-- send. By the month of `time` a small request could make thousands of parts, which held up everybody's events.
--
-- The term that is always 0 adds no partition. It names `time`, and of the columns named here each part keeps the
-- lowest and the highest value: so a read of a range of time passes over parts that have nothing of it.
--
-- A partition key cannot be altered. This file makes the table under another name; the step of the same name
-- (src/storage/events-move.ts) copies the rows, exchanges both tables and drops the old one. All else is as the first
-- five migrations left it; 0001 says why.
CREATE TABLE IF NOT EXISTS {{sharded events_by_ingest}} {{on_cluster}} (
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
PARTITION BY toYYYYMM(fromUnixTimestamp64Milli(toInt64(bitShiftRight(seq, 26)) * 10 + 1577836800000, 'UTC'))
  + 0 * toUnixTimestamp64Micro(time)
ORDER BY (org, time, seq)
TTL expires
SETTINGS index_granularity = 1024,
  min_compress_block_size = 16384,
  max_compress_block_size = 65536,
  min_bytes_for_wide_part = 67108864,
  non_replicated_deduplication_window = 0,
  replicated_deduplication_window = 0,
  fsync_after_insert = 1,
  fsync_part_directory = 1,
  old_parts_lifetime = 480,
  ttl_only_drop_parts = 0;

{{distributed events_by_ingest by cityHash64(org)}};
