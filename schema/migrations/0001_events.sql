-- One row an audit event. Narrow columns decide which rows answer a request; `ocsf` is what the answer is made of.
CREATE TABLE IF NOT EXISTS {{sharded events}} {{on_cluster}} (
  org UUID,
  -- Neighbours in the order of the table differ by little: differences take an eighth of the room.
  time DateTime64(6, 'UTC') CODEC(Delta, Default),
  -- The order of ingest, unique: a segment of the write-ahead log is a range of it (src/base/events/sequence.ts).
  seq UInt64 CODEC(Delta, Default),
  activity_id Int64,
  -- Few different values: a dictionary makes each a byte or two.
  activity_name LowCardinality(String),
  severity LowCardinality(String),
  status LowCardinality(String),
  level LowCardinality(String),
  result_code Int64,
  -- Folded (src/base/events/fold-case.ts), as are the next three: they are only matched, never shown.
  actor_email String,
  actor_id String,
  -- Of the file and of the target; at most two, and never the same one twice. So are the hashes.
  names Array(String),
  file_hash Array(String),
  -- As they were sent: exports, lists and receipts show them. Ingest finds them anyway; a CSV that looks for them in `source`
  -- costs the engine more than twice as much.
  file_name String,
  target_name String,
  flow_id UUID,
  -- The day from which the retention that held when it was recorded removes the row; the last day of the type stands for
  -- never. It is part of the event's leaf in its tree. What is removed follows from the policy of today.
  expires Date,
  -- The service itself says it: a mark that no body can set, as a producer can send an event with any code. It is part
  -- of the leaf, too (src/tlog/entry.ts).
  own Bool,
  -- Where it came from: an IPv4 address as the IPv6 one that maps it, `::` where there is none. The engine takes it out of
  -- the rendering, so it is what readers are shown, whatever writes or changes an event. What stands in quotation marks
  -- is found outside of strings only; `extra` may have such a member, and stands behind `enrichments`. By positions, as
  -- a regular expression takes longer; no address has 64 characters.
  src_ip IPv6 MATERIALIZED toIPv6OrDefault(if(
    position(ocsf, ',"src_endpoint":{"ip":"') = 0
      OR position(ocsf, ',"enrichments":[') BETWEEN 1 AND position(ocsf, ',"src_endpoint":{"ip":"'), '',
    substringIndex(substring(ocsf, position(ocsf, ',"src_endpoint":{"ip":"') + 23, 64), '"', 1))),
  -- The varying part of the event as JSON, from `"time":` to the opening of `metadata`; constants are added on reading.
  ocsf String,
  -- The event as its producer sent it. Whoever reads it reads many, or one: in larger blocks it takes a third less.
  source String SETTINGS (min_compress_block_size = 262144, max_compress_block_size = 262144),
  -- What the leaf commits to of all other columns (src/storage/event-hash.ts). The engine makes it while it has the texts in
  -- memory, so that trees are built of 32 bytes an event. Random bytes do not compress.
  event_hash FixedString(32) MATERIALIZED SHA256(concat(SHA256(source), SHA256(concat(SHA256(ocsf), formatRow('RowBinary', org,
    activity_id, activity_name, severity, status, level, result_code, actor_email, actor_id, names, file_hash, file_name,
    target_name, flow_id)))))
    CODEC(NONE),
  -- They know the rows of each name and hash, which no projection can, as an event has several. The engine answers
  -- `has()` from them and leaves the column unread.
  INDEX names_rows names TYPE text(tokenizer = 'array'),
  INDEX file_hash_rows file_hash TYPE text(tokenizer = 'array'),
  -- The row's position in its part, ordered otherwise: a filter finds its rows without a scan.
  PROJECTION by_actor (SELECT _part_offset ORDER BY org, actor_email, time),
  PROJECTION by_user (SELECT _part_offset ORDER BY org, actor_id, time),
  PROJECTION by_flow (SELECT _part_offset ORDER BY org, flow_id),
  PROJECTION by_seq (SELECT _part_offset ORDER BY org, seq),
  -- Counts by buckets of time: the total of a filter, and the bounds of its page, without a look at every match. They
  -- are true to each part, also after rows were removed. Of an organization by ten minutes, so that a deep page begins
  -- close to its first event; of all else by hour. Buckets are whole numbers, as `toStartOfHour` ends in 2106.
  PROJECTION counts (
    SELECT org, intDiv(toUnixTimestamp64Micro(time), 600000000), count()
    GROUP BY org, intDiv(toUnixTimestamp64Micro(time), 600000000)),
  PROJECTION actor_counts (
    SELECT org, actor_email, intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, actor_email, intDiv(toUnixTimestamp64Micro(time), 3600000000)),
  -- These tell actors apart, too, for filters by both. As nearly every user has one address, that adds no rows.
  PROJECTION user_counts (
    SELECT org, actor_id, actor_email, intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, actor_id, actor_email, intDiv(toUnixTimestamp64Micro(time), 3600000000)),
  -- No projection can be grouped by the elements of an array, so first and second names and hashes are counted apart, and
  -- the events that have one are the sum of both. An event without one counts for the empty name, which nobody can ask
  -- for. Second ones share a projection, as each costs an insert some 2.5 %. Hashes lead there: hardly an event has two,
  -- so below the empty hash the names are in order.
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
-- The month in which the event was recorded, from `seq` (from bit 26 on it counts 10 ms since 2020-01-01). The rows of one
-- INSERT are one segment, with one number: so they are always one part, whatever times producers send. By the month of
-- `time` a small request could make thousands of parts. The term that is always 0 adds no partition. It names `time`, and
-- of the columns named here each part keeps the lowest and the highest value: a read of a range of time passes over parts
-- that have nothing of it.
PARTITION BY toYYYYMM(fromUnixTimestamp64Milli(toInt64(bitShiftRight(seq, 26)) * 10 + 1577836800000, 'UTC'))
  + 0 * toUnixTimestamp64Micro(time)
ORDER BY (org, time, seq)
-- What is new is compressed by LZ4, as it is merged again soon: that takes a sixth off a merge, and pages are read sooner.
-- A merge of what is two minutes old writes ZSTD, in two thirds of the room.
TTL fromUnixTimestamp(toUInt32(intDiv(bitShiftRight(seq, 26), 100) + 1577836800)) + INTERVAL 2 MINUTE RECOMPRESS CODEC(ZSTD(1))
-- Small granules and blocks: a page is a thousand rows, and what is read around them is waste.
--
-- Parts as inserted keep their columns in one file (min_bytes_for_wide_part): with projections, a part of many files costs
-- the file system a tenth of the insert.
--
-- The engine keeps no memory of inserted blocks. It would drop a block that looks like an earlier one without a word, and
-- that memory can outlive the block in a crash: the segment that is sent again for it would be lost. Whether a segment has
-- been stored is asked of the table. It is said here and not with each INSERT, as the setting for that is another one from
-- release to release of the engine.
--
-- An acknowledged insert is on the disk, and so is a merge. The parts that a merge has replaced stay two minutes, much longer
-- than it takes to notice a failed write (src/storage/engine-writes.ts: a second). A table at rest is cleaned each
-- half minute, too: by default the engine would keep for five minutes more what a removal or an erasure has replaced.
-- The statement of an erasure has its events' whole texts, with persons who may be erased later by another statement. So of
-- those that are done only the last one stays, and not a hundred.
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
