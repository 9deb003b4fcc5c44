-- The writer registry: processes that share an engine, with their watermarks.

-- Leases, which one process holds at a time: a writer number, which makes its order numbers unique (`writer 3`); building trees,
-- retention, erasures. Each run of a server has one (`run <instance>`): two with one instance at the same time are a data directory
-- and its copy. The highest `version` of an owner counts.
CREATE TABLE IF NOT EXISTS leases {{on_cluster}}
(
    name String,
    owner UUID,
    held Bool COMMENT 'false: requested, or ended',
    number UInt64 COMMENT 'fencing: only the highest of a name holds',
    lasts UInt64 COMMENT 'milliseconds after `seen`; 0: ended',
    seen DateTime64(3, 'UTC') DEFAULT now64(3),
    version UInt64,
    host String,
    place String COMMENT 'boot of the machine, with its process namespace; empty: the lease outlives its process',
    pid UInt32,
    begun String COMMENT 'start of the process, as the system counts it'
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY (name, owner)
TTL toDateTime(seen) + INTERVAL 30 DAY;

-- Watermarks of the order of ingest, for the feed. A writer stores nothing more below its `low`; while `is_open`, it may write at or
-- above it. If `gone_after` milliseconds pass without a new row of a writer, none of its INSERTs is under way. Old rows expire; the
-- newest row of a writer, which counts, expires last.
CREATE TABLE IF NOT EXISTS watermarks {{on_cluster}}
(
    writer UUID,
    low UInt64,
    is_open Bool,
    version UInt64,
    gone_after UInt32,
    host String,
    pid UInt32,
    written DateTime('UTC') DEFAULT now()
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY writer
TTL written + INTERVAL 30 DAY;
