-- capacity: limits of the server, its open connections, whether this role may write, and whether there are tables.
select current_setting('max_connections')::int,
    (select count(*)::int from pg_stat_activity where backend_type = 'client backend'),
    pg_size_bytes(current_setting('shared_buffers')), current_setting('autovacuum'),
    case when to_regclass('jobs') is null then coalesce(has_schema_privilege(current_schema(), 'create'),
            has_database_privilege(current_database(), 'create'))
        else has_table_privilege(to_regclass('jobs'), 'insert, update') end,
    to_regclass('migrations') is not null
