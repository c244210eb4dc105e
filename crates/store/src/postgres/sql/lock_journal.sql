-- lock_journal: lets one batch of all nodes at a time decide and append, until its commit. So a batch decides on the present state,
-- and positions are in the order of commits.
select pg_advisory_xact_lock('positions'::regclass::oid::bigint)
