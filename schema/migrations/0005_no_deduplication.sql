-- The engine keeps no memory of inserted blocks. It would drop a block that looks like an earlier one without a word,
-- and that memory can outlive the block in a crash: the segment that is sent again for it would be lost. Whether a
-- segment has been stored is asked of the table. It is said here and not with each INSERT, as the setting for that is
-- another one from release to release: where `deduplicate_insert` exists, which older ones refuse, `insert_deduplicate`
-- does nothing. (The first migration still speaks of a token; there is none.)
ALTER TABLE {{sharded events}} {{on_cluster}}
  MODIFY SETTING non_replicated_deduplication_window = 0, replicated_deduplication_window = 0;
