-- Works from: 0018
--
-- How far a release can be rolled back. From this file on each migration says in its first line which one a release must
-- know at least to work with the tables as they are afterwards. What only adds something says the number of an earlier
-- one; a release that does not know it goes on beside it. Releases before this file refuse every later one. A table of its
-- own, as a column more would take a right that the users of ClickHouse servers were not asked to be given.
CREATE TABLE IF NOT EXISTS migration_levels {{on_cluster}}
(
    name       String,
    works_from UInt16
)
ENGINE = {{ReplacingMergeTree}}
ORDER BY name
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
