-- Works from: 0019
--
-- A part of `events` has 125 files, and the parts that a merge has replaced stay for `old_parts_lifetime`: with a segment
-- every half second, eight minutes of them were 137,000 files. They stayed so long as merged parts were not synced. Now
-- they are, and two minutes are left for the look at what was written (src/storage/write-health.ts), which comes each minute.
ALTER TABLE {{sharded events}} {{on_cluster}}
  MODIFY SETTING min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 120;
