-- lock_journal: lets one batch at a time assign positions, until its commit, so that readers see them in order.
select pg_advisory_xact_lock('positions'::regclass::oid::bigint)
