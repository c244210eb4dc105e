-- settings: what would lose acknowledged work, and whether this server can be written to.
select current_setting('server_version_num')::int, current_setting('fsync'), current_setting('synchronous_commit'),
    current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('transaction_read_only')
