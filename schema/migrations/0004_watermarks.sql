-- The watermarks of the order of ingest, for the feed. A row says of its writer: everything of mine in segments
-- below `low` is in the table or never will be, and until `until` I may write at or above it. Writers are processes
-- that share an engine, and commands that write past the log of a server. Rows go by their age: of a writer's rows the
-- newest, which counts, is the last to go.
CREATE TABLE IF NOT EXISTS watermarks {{on_cluster}}
(
    writer UUID,
    low UInt64,
    until DateTime64(3, 'UTC'),
    version UInt64,
    written DateTime('UTC') DEFAULT now()
)
ENGINE = {{ReplacingMergeTree(version)}}
ORDER BY writer
TTL written + INTERVAL 30 DAY;
