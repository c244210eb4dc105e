-- lock_migrations: lets one node migrate at a time. The number identifies this lock of Tenure.
select pg_advisory_xact_lock(7234017283807667301)
