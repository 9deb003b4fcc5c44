-- The writer registry: processes that share an engine, and how far each has come.

-- What one process at a time has for itself: a small number, which makes the order of its events (seq) its own
-- (`writer 3`); building trees, retention, erasures. What each run of a server has, to be seen (`run <instance>`): two of
-- one instance at the same time are a data directory and its copy. And what a command has that writes past the log of a server
-- (`command <owner>`): the feed waits for its `number`, the lowest segment that it may still write, until `lasts` is 0.
-- Of an owner's rows the highest `version` counts.
CREATE TABLE IF NOT EXISTS leases {{on_cluster}}
(
    name String,
    owner UUID,
    held Bool COMMENT 'false: it only asks, or has ended',
    number UInt64 COMMENT 'fences: of a name only the highest holds',
    lasts UInt64 COMMENT 'so many milliseconds after it was seen; 0: it has ended',
    seen DateTime64(3, 'UTC') DEFAULT now64(3),
    version UInt64,
    host String,
    place String COMMENT 'of the boot of a machine and its processes; empty: the lease outlives its process',
    pid UInt32,
    begun String COMMENT 'when the process began, as the system counts it'
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY (name, owner)
TTL toDateTime(seen) + INTERVAL 30 DAY;

-- The watermarks of the order of ingest, for the feed. A row says of its writer, a process that shares the engine:
-- everything of mine below `low` is in the table or never will be, and while it `is_open` I may write at or above it;
-- `gone_after` milliseconds without another row of mine nothing of it is under way any more. Rows go by their age: of a
-- writer's rows the newest, which counts, is the last to go.
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
