-- tables_found: whether a schema exists, whether it has Tenure's tables, and which other schema on the search path of the
-- session has a table of migrations.
select exists (select from pg_namespace where nspname = $1),
    exists (select from pg_tables where schemaname = $1 and tablename = 'migrations'),
    (select n.nspname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.oid = to_regclass('migrations') and n.nspname <> $1)
