-- Works from: 0018
--
-- How far a release can be rolled back. From this file on each migration says in its first line which one a release must
-- know at least to work with the tables as they are afterwards. What only adds something says the number of an earlier
-- one; a release that does not know it goes on beside it. Releases before this file refuse every later one.
ALTER TABLE schema_migrations {{on_cluster}} ADD COLUMN IF NOT EXISTS works_from UInt16;
