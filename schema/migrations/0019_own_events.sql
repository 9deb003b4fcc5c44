-- Works from: 0019
--
-- What the service itself says (its policies, holds and erasures, keys, logins) has a mark that no body can set: a producer
-- can send an event with any code. The mark is part of an event's leaf in its tree (src/tlog/entry.ts).
ALTER TABLE {{sharded events}} {{on_cluster}}
  ADD COLUMN IF NOT EXISTS own Bool DEFAULT false COMMENT 'the service itself says it' CODEC(ZSTD(1)) AFTER expires;

{{on_distributed}} ALTER TABLE events {{on_cluster}}
  ADD COLUMN IF NOT EXISTS own Bool DEFAULT false COMMENT 'the service itself says it' AFTER expires;
