-- One row per audit event. Narrow columns select rows; `ocsf` is the text of answers.
CREATE TABLE IF NOT EXISTS {{sharded events}} {{on_cluster}} (
  org UUID,
  -- Neighbouring rows differ by little: differences take an eighth of the space.
  time DateTime64(6, 'UTC') CODEC(Delta, Default),
  -- The unique order of ingest: a segment of the write-ahead log is a range (src/base/events/sequence.ts).
  seq UInt64 CODEC(Delta, Default),
  activity_id Int64,
  -- Few distinct values: with a dictionary each takes a byte or two.
  activity_name LowCardinality(String),
  severity LowCardinality(String),
  status LowCardinality(String),
  level LowCardinality(String),
  result_code Int64,
  -- Folded (src/base/events/fold-case.ts), like the next three columns: matched, never shown.
  actor_email String,
  actor_id String,
  -- Of the file and the target: at most two, distinct. The same applies to the hashes.
  names Array(String),
  file_hash Array(String),
  -- As sent; exports, lists and receipts show them. Reading them from `source` would more than double the cost of CSV.
  file_name String,
  target_name String,
  flow_id UUID,
  -- The day from which the retention at the time of recording removes the row; the type's last day means never. Part of the
  -- event's leaf in its tree. The removal itself follows the current policy.
  expires Date,
  -- Recorded by the service itself. No body can set it, while producers can send any code. Part of the leaf, too
  -- (src/tlog/entry.ts).
  own Bool,
  -- Source address: IPv4 as the mapped IPv6 address, `::` if absent. The engine extracts it from the rendering, so it equals
  -- the displayed address, also after an erasure. The searched texts contain quotation marks, which are escaped inside of strings.
  -- `extra` may have such a member, but comes after `enrichments`. Positions are faster than a regular expression; no address has
  -- 64 characters.
  src_ip IPv6 MATERIALIZED toIPv6OrDefault(if(
    position(ocsf, ',"src_endpoint":{"ip":"') = 0
      OR position(ocsf, ',"enrichments":[') BETWEEN 1 AND position(ocsf, ',"src_endpoint":{"ip":"'), '',
    substringIndex(substring(ocsf, position(ocsf, ',"src_endpoint":{"ip":"') + 23, 64), '"', 1))),
  -- The varying part of the event as JSON, from `"time":` to the opening of `metadata`; reads add the constants.
  ocsf String,
  -- The event as its producer sent it. Reads need many of them or one: larger blocks save a third.
  source String SETTINGS (min_compress_block_size = 262144, max_compress_block_size = 262144),
  -- Hash of all other columns for the leaf (src/storage/event-hash.ts). The engine computes it at INSERT, with the texts in
  -- memory, so building trees reads 32 bytes per event. Random bytes do not compress.
  event_hash FixedString(32) MATERIALIZED SHA256(concat(SHA256(source), SHA256(concat(SHA256(ocsf), formatRow('RowBinary', org,
    activity_id, activity_name, severity, status, level, result_code, actor_email, actor_id, names, file_hash, file_name,
    target_name, flow_id)))))
    CODEC(NONE),
  -- Rows of each name and hash, which no projection can have, as an event has several. The engine answers `has()` from them
  -- without reading the column.
  INDEX names_rows names TYPE text(tokenizer = 'array'),
  INDEX file_hash_rows file_hash TYPE text(tokenizer = 'array'),
  -- Positions of rows in another order: a filter finds its rows without a scan.
  PROJECTION by_actor (SELECT _part_offset ORDER BY org, actor_email, time),
  PROJECTION by_user (SELECT _part_offset ORDER BY org, actor_id, time),
  PROJECTION by_flow (SELECT _part_offset ORDER BY org, flow_id),
  PROJECTION by_seq (SELECT _part_offset ORDER BY org, seq),
  -- Counts by buckets of time give the total of a filter and the bounds of its page without reading every match. They match
  -- each part, also after removals. Organizations have buckets of ten minutes, so that a deep page begins close to its first
  -- event; the others have hours. Buckets are integers, as `toStartOfHour` ends in 2106.
  PROJECTION counts (
    SELECT org, intDiv(toUnixTimestamp64Micro(time), 600000000), count()
    GROUP BY org, intDiv(toUnixTimestamp64Micro(time), 600000000)),
  PROJECTION actor_counts (
    SELECT org, actor_email, intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, actor_email, intDiv(toUnixTimestamp64Micro(time), 3600000000)),
  -- Also by actor, for filters by both. That adds few rows, as nearly every user has one address.
  PROJECTION user_counts (
    SELECT org, actor_id, actor_email, intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, actor_id, actor_email, intDiv(toUnixTimestamp64Micro(time), 3600000000)),
  -- No projection can group by the elements of an array, so first and second names and hashes are counted separately, and
  -- their sum is the number of events with a name. An event without one counts for the empty name, which no filter can select.
  -- Second elements share a projection, as each projection costs an INSERT some 2.5 %. Hashes come first there: few events have
  -- two, so names are in order below the empty hash.
  PROJECTION name_counts (
    SELECT org, names[1], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, names[1], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000)),
  PROJECTION hash_counts (
    SELECT org, file_hash[1], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, file_hash[1], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000)),
  PROJECTION second_counts (
    SELECT org, file_hash[2], names[2], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, file_hash[2], names[2], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000))
) ENGINE = {{MergeTree}}
-- The month of recording, from `seq` (from bit 26 on it counts 10 ms since 2020-01-01). The rows of one INSERT are one segment
-- with one number, so they are always one part. With the month of `time` a small request could make thousands of parts. The
-- term that is always 0 adds no partition, but names `time`: each part keeps the minimum and maximum of the columns named here, so
-- a read of a range of time skips parts outside of it.
PARTITION BY toYYYYMM(fromUnixTimestamp64Milli(toInt64(bitShiftRight(seq, 26)) * 10 + 1577836800000, 'UTC'))
  + 0 * toUnixTimestamp64Micro(time)
ORDER BY (org, time, seq)
-- New rows are compressed with LZ4, as they are merged soon: a merge is a sixth cheaper, and pages are faster. A merge of rows
-- older than two minutes writes ZSTD, which takes two thirds of the space.
TTL fromUnixTimestamp(toUInt32(intDiv(bitShiftRight(seq, 26), 100) + 1577836800)) + INTERVAL 2 MINUTE RECOMPRESS CODEC(ZSTD(1))
-- Small granules and blocks: a page is a thousand rows, and rows read around them are waste.
--
-- Inserted parts keep their columns in one file (min_bytes_for_wide_part): with projections, many files cost a tenth of the
-- INSERT.
--
-- Deduplication of inserted blocks is off. Its memory can outlive a block in a crash, and would silently drop the repeated
-- segment. The table itself shows whether a segment is stored. The setting is here and not in each INSERT, as its name for INSERTs
-- differs between releases of the engine.
--
-- INSERTs and merges are synced. Replaced parts stay two minutes, much longer than it takes to notice a failed write (a second,
-- src/storage/engine-writes.ts). An idle table is cleaned every half minute, too; by default, the engine would keep parts
-- that a removal or an erasure replaced for five more minutes. The statement of an erasure contains whole events, with persons whom a later
-- erasure may remove. So only the last finished one stays, instead of a hundred.
SETTINGS index_granularity = 1024,
  min_compress_block_size = 16384,
  max_compress_block_size = 65536,
  min_bytes_for_wide_part = 67108864,
  non_replicated_deduplication_window = 0,
  replicated_deduplication_window = 0,
  fsync_after_insert = 1,
  fsync_part_directory = 1,
  min_rows_to_fsync_after_merge = 1,
  old_parts_lifetime = 120,
  max_cleanup_delay_period = 30,
  finished_mutations_to_keep = 1;

{{distributed events by cityHash64(org)}};
