-- Idempotency keys that processes on one engine share. A row is a claim: of those on an `id` (of API key and key) one
-- process stores events, and then says what it has answered. `state`: 1 claimed, 2 withdrawn, 3 answered; of a claim's
-- rows the highest state counts, in whatever order they come. `instance` is the process, `sent` what the body was.
CREATE TABLE IF NOT EXISTS idempotency_keys {{on_cluster}}
(
    id String,
    claim UUID,
    instance UUID,
    state UInt8,
    sent String,
    answer String,
    at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = {{ReplacingMergeTree(state)}}
ORDER BY (id, claim)
TTL toDateTime(at) + INTERVAL 25 HOUR
SETTINGS index_granularity = 256, fsync_after_insert = 1, fsync_part_directory = 1;
