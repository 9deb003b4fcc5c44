-- When API keys were last used, as far as each process has told: the newest time of an id counts. A table of its own,
-- so that a key's row changes only when somebody changes the key.
CREATE TABLE IF NOT EXISTS api_key_uses {{on_cluster}}
(
    id String,
    used_at DateTime64(6, 'UTC')
)
ENGINE = {{ReplacingMergeTree(used_at)}}
ORDER BY id;
