-- lock_journal: positions are drawn by one batch at a time, until its commit, so that readers see them in order.
select pg_advisory_xact_lock('positions'::regclass::oid::bigint)
