-- Processes that share an engine, each with a small number that makes the order of its events (seq) its own.
CREATE TABLE IF NOT EXISTS writers {{on_cluster}}
(
    id UInt8,
    instance UUID,
    seen DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = {{ReplacingMergeTree(seen)}}
ORDER BY (id, instance);
