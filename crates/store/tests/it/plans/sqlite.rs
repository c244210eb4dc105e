//! SQLite: `explain query plan` of every statement.

use rusqlite::Connection;
use rusqlite::types::Null;

use super::with_listings;
use crate::stores;

/// Statements that may scan a whole table, and why.
const WHOLE: [(&str, &str); 13] = [
    ("flow_records", "all of them, when the store is opened"),
    ("counts", "counts every job, for pages that say so"),
    ("orphans", "verify reads every table once"),
    ("open", "every live job, once, by the index that holds nothing else"),
    ("open_ready", "every live job, once, by the index that holds nothing else"),
    ("open_dead_letters", "counts them, by the index that holds nothing else"),
    ("workers", "the last ones, by the index that has them in order"),
    ("nodes", "the last ones, by the index that has them in order"),
    ("api_keys", "a few rows"),
    ("load_api_keys", "a few rows"),
    ("lifecycles", "a few rows"),
    ("paused", "a few rows"),
    ("migrated", "a few rows"),
];

#[tokio::test]
async fn every_statement_of_sqlite_uses_an_index() {
    let folder = stores::a_folder();
    drop(stores::open(folder.path()).await);
    let connection = Connection::open(folder.path().join("tenure.db")).unwrap();
    for (name, sql) in with_listings("sqlite", |n| format!("?{n}")) {
        let mut statement = match connection.prepare(&format!("explain query plan {sql}")) {
            Ok(statement) => statement,
            Err(_) if sql.contains("create table") => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        let values = vec![Null; statement.parameter_count()];
        let rows =
            statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        let plan: Vec<String> = rows.map(Result::unwrap).collect();
        let whole: Vec<_> = plan.iter().filter(|line| reads_whole(line)).collect();
        let allowed = WHOLE.iter().any(|(allowed, _)| *allowed == name);
        assert!(allowed || whole.is_empty(), "{name} reads a table whole: {plan:#?}");
    }
}

#[tokio::test]
async fn retention_reads_only_the_jobs_of_its_lifecycle() {
    let folder = stores::a_folder();
    drop(stores::open(folder.path()).await);
    let connection = Connection::open(folder.path().join("tenure.db")).unwrap();
    let statement = include_str!("../../../src/sqlite/sql/completed_between.sql");
    let mut statement = connection.prepare(&format!("explain query plan {statement}")).unwrap();
    let values = vec![Null; statement.parameter_count()];
    let rows =
        statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
    let plan: Vec<String> = rows.map(Result::unwrap).collect();
    assert!(plan[0].contains("job_states_retention (lifecycle=? AND"), "{plan:#?}");
    assert!(plan.iter().all(|step| !step.contains("TEMP B-TREE")), "{plan:#?}");
}

/// A plan step that scans a table or an index; constants and subquery results do not count.
fn reads_whole(line: &str) -> bool {
    let made = ["CONSTANT ROW", "SUBQUERY", "(subquery"];
    line.starts_with("SCAN") && !made.iter().any(|made| line.contains(made))
}
