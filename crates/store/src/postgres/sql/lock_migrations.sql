-- lock_migrations: one node migrates at a time; the others wait. The number is Tenure's own.
select pg_advisory_xact_lock(7234017283807667301)
