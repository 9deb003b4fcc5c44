-- The engine keeps no memory of inserted blocks. It would drop a block that looks like an earlier one without a word,
-- and that memory can outlive the block in a crash: the segment that is sent again for it would be lost. Whether a
-- segment has been stored is asked of the table. It has to be said here: from ClickHouse 26.3 on, the setting
-- `insert_deduplicate` of an INSERT does nothing. (The first migration still speaks of a token; there is none.)
ALTER TABLE {{sharded events}} {{on_cluster}}
  MODIFY SETTING non_replicated_deduplication_window = 0, replicated_deduplication_window = 0;
