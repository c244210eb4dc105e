//! Snapshots of the schema after all migrations, so that a review shows the schema and not only the steps.

use expect_test::expect_file;
use rusqlite::Connection;

use crate::stores;

#[tokio::test]
async fn the_schema_of_sqlite_matches_its_snapshot() {
    let folder = stores::a_folder();
    drop(stores::open(folder.path()).await);
    let connection = Connection::open(folder.path().join("tenure.db")).unwrap();
    let sql = "select sql from sqlite_schema where sql is not null order by type = 'index', tbl_name, name";
    let mut statement = connection.prepare(sql).unwrap();
    let parts: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let head = "-- The schema of the embedded store after all migrations. Written by a test; never run.\n\n";
    expect_file!["schema/sqlite.sql"].assert_eq(&format!("{head}{};\n", parts.join(";\n\n")));
}

/// Tables column by column, then indexes and sequences, as the server describes them.
const POSTGRES: &str = "
    select line from (
        select 0 as kind, table_name::text as name, 0 as place, format('table %s', table_name) as line
        from information_schema.tables where table_schema = 'tenure'
        union all
        select 0, table_name::text, ordinal_position, format('    %s %s%s%s%s', column_name, data_type,
            coalesce(' collate ' || collation_name, ''),
            case when is_nullable = 'NO' then ' not null' else '' end,
            case when is_identity = 'YES' then ' identity' else '' end)
        from information_schema.columns where table_schema = 'tenure'
        union all
        select 0, relname::text, 1000, format('    with (%s)', array_to_string(reloptions, ', '))
        from pg_class where relnamespace = 'tenure'::regnamespace and reloptions is not null
        union all
        select 1, indexname::text, 0, regexp_replace(indexdef, 'tenure\\.', '') from pg_indexes where schemaname = 'tenure'
        union all
        select 2, sequencename::text, 0, format('sequence %s as %s', sequencename, data_type)
        from pg_sequences where schemaname = 'tenure'
    ) it order by kind, name, place";

#[tokio::test]
async fn the_schema_of_postgres_matches_its_snapshot() {
    let url = stores::a_database().await;
    drop(stores::connect(&url).await);
    let rows = stores::ask(&url, POSTGRES).await;
    let lines: Vec<String> =
        rows.into_iter().map(|mut row| format!("-- {}", row.remove(0).unwrap())).collect();
    let head = "-- The schema of the shared store after all migrations. Written by a test; never run.\n\n";
    expect_file!["schema/postgres.sql"].assert_eq(&format!("{head}{}\n", lines.join("\n")));
}
