-- Counts by hour of each file name and hash, as 0008 has them of actors and users: `has()` by the text indexes looks at
-- a row for each event of the organization, which for a frequent name takes far longer than its page.
--
-- An event has at most two names and two hashes, in lower case and never the same one twice. No projection can be
-- grouped by the elements of an array, so first and second ones are counted apart, and the events that have a name
-- are the sum of both. An event without one counts for the empty name, which nobody can ask for.
ALTER TABLE {{sharded events}} {{on_cluster}}
  ADD PROJECTION IF NOT EXISTS first_name_counts (
    SELECT org, names[1], intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, names[1], intDiv(toUnixTimestamp64Micro(time), 3600000000)),
  ADD PROJECTION IF NOT EXISTS second_name_counts (
    SELECT org, names[2], intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, names[2], intDiv(toUnixTimestamp64Micro(time), 3600000000)),
  ADD PROJECTION IF NOT EXISTS first_hash_counts (
    SELECT org, file_hash[1], intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, file_hash[1], intDiv(toUnixTimestamp64Micro(time), 3600000000)),
  ADD PROJECTION IF NOT EXISTS second_hash_counts (
    SELECT org, file_hash[2], intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, file_hash[2], intDiv(toUnixTimestamp64Micro(time), 3600000000));

ALTER TABLE {{sharded events}} {{on_cluster}}
  MATERIALIZE PROJECTION first_name_counts,
  MATERIALIZE PROJECTION second_name_counts,
  MATERIALIZE PROJECTION first_hash_counts,
  MATERIALIZE PROJECTION second_hash_counts
  SETTINGS mutations_sync = 0;
