-- Servers that share an engine, as they are seen: each run of one has a row, renewed every few seconds. Two runs of one
-- instance at the same time are a data directory and its copy.
CREATE TABLE IF NOT EXISTS writer_runs {{on_cluster}}
(
    instance UUID,
    run UUID,
    id UInt8,
    host String,
    pid UInt32,
    seen DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = {{ReplacingMergeTree(seen)}}
ORDER BY (instance, run)
TTL toDateTime(seen) + INTERVAL 30 DAY;

-- Instances that an operator has given up: nobody waits for what their logs still hold. Kept for ever, as a data
-- directory may come back at any time.
CREATE TABLE IF NOT EXISTS retired_writers {{on_cluster}}
(
    instance UUID,
    id UInt8,
    low UInt64,
    operator String,
    retired DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = {{ReplacingMergeTree(retired)}}
ORDER BY instance;
