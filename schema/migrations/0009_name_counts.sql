-- Counts by hour of each file name and hash, as 0008 has them of actors and users: `has()` by the text indexes looks at
-- a row for each event of the organization, which for a frequent name takes far longer than its page.
--
-- An event has at most two names and two hashes, in lower case and never the same one twice. No projection can be
-- grouped by the elements of an array, so first and second ones are counted apart, and the events that have a name
-- are the sum of both. An event without one counts for the empty name, which nobody can ask for.
--
-- All tell actors and users apart, too: filters by a name and an actor have their total and their page's bounds from
-- here. Second names and second hashes share one, as each projection costs an insert some 2.5 %. Hashes lead there:
-- hardly an event has two, so below the empty hash the names are in order.
ALTER TABLE {{sharded events}} {{on_cluster}}
  ADD PROJECTION IF NOT EXISTS name_counts (
    SELECT org, names[1], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, names[1], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000)),
  ADD PROJECTION IF NOT EXISTS hash_counts (
    SELECT org, file_hash[1], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, file_hash[1], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000)),
  ADD PROJECTION IF NOT EXISTS second_counts (
    SELECT org, file_hash[2], names[2], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000), count()
    GROUP BY org, file_hash[2], names[2], actor_email, actor_id, intDiv(toUnixTimestamp64Micro(time), 3600000000));

ALTER TABLE {{sharded events}} {{on_cluster}}
  MATERIALIZE PROJECTION name_counts,
  MATERIALIZE PROJECTION hash_counts,
  MATERIALIZE PROJECTION second_counts
  SETTINGS mutations_sync = 0;
