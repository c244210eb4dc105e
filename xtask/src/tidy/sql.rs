//! Checks SQL: no rules, states and clocks in statements, no statements outside the store, the same statements for both
//! databases.

use std::collections::{BTreeMap, BTreeSet};

use super::Flaw;
use super::names::{has_word, in_name};
use super::tree::{File, Tree};

const STORE: &str = "crates/store/";
const SQLITE: &str = "crates/store/src/sqlite/sql/";
const POSTGRES: &str = "crates/store/src/postgres/sql/";

/// Statements that only one database needs, for one reason.
struct OneDatabaseOnly {
    postgres: &'static str,
    sqlite: &'static str,
}

const ONE_DATABASE_ONLY: &[OneDatabaseOnly] = &[
    // SQLite's settings are pragmas.
    OneDatabaseOnly { postgres: "begin capacity settings", sqlite: "" },
    // A file has no schemas, and no transactions of applications.
    OneDatabaseOnly {
        postgres: "tables_found intake_installed intake_page load_intake pending_request remove_intake",
        sqlite: "",
    },
    // The embedded store has no other nodes.
    OneDatabaseOnly { postgres: "notify", sqlite: "" },
    // PostgreSQL's nodes follow the journal, and the rows of unfinished jobs follow it too.
    OneDatabaseOnly {
        postgres: "change_flow end_position has_record insert_job_change last_record prune_changes put_state save_position tail tail_changes",
        sqlite: "insert_state update_state",
    },
    // The embedded store uses the clock of its process, PostgreSQL that of the database server.
    OneDatabaseOnly { postgres: "count_outage now now_batch now_first now_wall", sqlite: "clock" },
    // SQLite has one writer, so nothing to lock and no races.
    OneDatabaseOnly {
        postgres: "commit_done fence_commit insert_account insert_commit insert_key lock_journal lock_migrations",
        sqlite: "advance_position",
    },
    // SQLite updates an index when one of its columns is set, PostgreSQL when it differs.
    OneDatabaseOnly { postgres: "", sqlite: "update_live" },
    // PostgreSQL reads many rows in a round trip, SQLite has no round trips.
    OneDatabaseOnly {
        postgres: "load_accounts load_keys load_referenced scan_dead_letters scan_events scan_ledger scan_logs",
        sqlite: "ledger_of_job ledger_sums load_key log_count",
    },
];

/// Functions that read a clock, in either database. One with a parenthesis counts only as a call.
const CLOCKS: &str = "now( clock_timestamp statement_timestamp transaction_timestamp current_timestamp current_time \
                      current_date localtimestamp strftime unixepoch julianday datetime(";

/// The exceptions of one database.
fn excepted(sql: &str) -> impl Iterator<Item = &'static str> {
    let is_sqlite = sql == SQLITE;
    let lists = ONE_DATABASE_ONLY.iter().map(move |it| if is_sqlite { it.sqlite } else { it.postgres });
    lists.flat_map(str::split_whitespace)
}

/// Both databases have the same statements, under the same names.
pub(super) fn twins(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (ours, theirs) in [(SQLITE, POSTGRES), (POSTGRES, SQLITE)] {
        for file in tree.ending(".sql") {
            let Some(name) = file.path.strip_prefix(ours) else { continue };
            let is_excepted = excepted(ours).any(|excepted| excepted == name.trim_end_matches(".sql"));
            if !is_excepted && tree.file(&format!("{theirs}{name}")).is_none() {
                let message =
                    format!("is missing in {theirs}: add it, or list it in tidy/sql.rs with a reason");
                flaws.push(file.flaw(0, message));
            }
        }
    }
    flaws
}

/// Every statement that is excepted exists.
pub(super) fn used_exceptions(tree: &Tree) -> Vec<Flaw> {
    let paths = [SQLITE, POSTGRES].map(|sql| excepted(sql).map(move |name| format!("{sql}{name}.sql")));
    let missing = paths.into_iter().flatten().filter(|path| tree.file(path).is_none());
    let message = "does not exist: remove it from the exceptions in tidy/sql.rs";
    missing.map(|path| Flaw::new(&path, 0, message)).collect()
}

/// No statement about tables of Tenure in a string of another crate, except in tests.
pub(super) fn only_in_store(tree: &Tree) -> Vec<Flaw> {
    let message = "SQL outside crates/store: add a method to the store";
    let others = tree.literals().filter(|(file, ..)| !file.path.starts_with(STORE));
    let statements = others.filter(|(.., text)| is_statement(text) && !reads_only_catalogs(text));
    statements.map(|(file, line, _)| file.flaw(line, message)).collect()
}

/// Whether the statements only read what PostgreSQL says about itself.
fn reads_only_catalogs(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut words = text.split(|letter| !in_name(letter)).filter(|word| !word.is_empty());
    let mut tables =
        words.clone().zip(words.clone().skip(1)).filter(|(word, _)| *word == "from" || *word == "join");
    tables.all(|(_, table)| table.starts_with("pg_"))
        && !words.any(|word| matches!(word, "insert" | "update" | "delete"))
}

/// Whether a string looks like SQL and not like a sentence with one of its keywords.
fn is_statement(text: &str) -> bool {
    let text = text.to_lowercase();
    // A statement may contain parentheses, and begin after one.
    let lines = text.split(['\n', ';']);
    let mut parts =
        lines.flat_map(|line| line.match_indices('(').map(|(at, _)| &line[at + 1..]).chain([line]));
    parts.any(|part| {
        let words: Vec<&str> = part.split_whitespace().collect();
        let begins = |first: &str, then: &str, by: std::ops::Range<usize>| {
            words.first() == Some(&first)
                && words.iter().enumerate().any(|(at, word)| by.contains(&at) && *word == then)
        };
        begins("select", "from", 2..usize::MAX)
            || begins("insert", "into", 1..5)
            || begins("update", "set", 2..5)
            || begins("delete", "from", 1..2)
    }) || is_statement_over_lines(&text)
}

/// Whether `select` and `from`, or `update` and `set`, begin lines of the text.
fn is_statement_over_lines(text: &str) -> bool {
    let mut firsts = text.lines().filter_map(|line| line.split_whitespace().next());
    match firsts.find(|word| *word == "select" || *word == "update") {
        Some("select") => firsts.any(|word| word == "from"),
        Some(_) => firsts.any(|word| word == "set"),
        None => false,
    }
}

/// No state of the built-in lifecycles as a literal: lifecycles declare states, and statements are independent of them.
pub(super) fn no_state_names(tree: &Tree) -> Vec<Flaw> {
    let mut states = BTreeSet::new();
    let mut flaws = Vec::new();
    for file in tree.ending(".toml").filter(|file| file.path.starts_with("lifecycles/")) {
        let lifecycle = file.text.parse::<toml::Table>().unwrap_or_default();
        match lifecycle.get("states").and_then(toml::Value::as_table) {
            Some(table) => states.extend(table.keys().cloned()),
            None => flaws.push(
                file.flaw(0, "its [states] cannot be read, so SQL cannot be checked: correct the file"),
            ),
        }
    }
    for file in tree.ending(".sql") {
        for (line, text) in statement_lines(file) {
            let found = states.iter().filter(|state| text.contains(&format!("'{state}'")));
            let message = |state| format!("'{state}' is a state: search by a column that core computes");
            flaws.extend(found.map(|state| file.flaw(line, message(state))));
        }
    }
    flaws
}

/// Only one statement per database reads the clock; the others get the time as a parameter.
pub(super) fn one_clock(tree: &Tree) -> Vec<Flaw> {
    let message =
        |clock: &str| format!("{clock} reads a clock: only now.sql does; take the time as a parameter");
    let mut flaws = Vec::new();
    for file in tree.ending(".sql") {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        if name == "now.sql" || name.starts_with("now_") {
            continue;
        }
        for (line, text) in statement_lines(file) {
            flaws.extend(clocks(&text).map(|clock| file.flaw(line, message(clock))));
        }
    }
    // Statements that are assembled in Rust.
    for (file, line, text) in tree.literals().filter(|(file, ..)| file.path.starts_with(STORE)) {
        flaws.extend(clocks(&text.to_lowercase()).map(|clock| file.flaw(line, message(clock))));
    }
    flaws
}

fn clocks(text: &str) -> impl Iterator<Item = &'static str> {
    CLOCKS.split(' ').filter(move |clock| has_word(text, clock))
}

/// Migrations run in the order of their numbers, so numbers are unique.
pub(super) fn migrations(tree: &Tree) -> Vec<Flaw> {
    let mut taken: BTreeMap<(&str, u64), &str> = BTreeMap::new();
    let mut flaws = Vec::new();
    for file in tree.ending(".sql") {
        let Some((folder, name)) = file.path.rsplit_once('/') else { continue };
        if folder.rsplit('/').next() != Some("migrations") {
            continue;
        }
        let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
        let Ok(number) = digits.parse() else {
            flaws.push(file.flaw(0, "begin the name of a migration with its number"));
            continue;
        };
        if let Some(first) = taken.insert((folder, number), name) {
            flaws.push(file.flaw(0, format!("{first} has the same number: use the next one")));
        }
    }
    flaws
}

/// The lines of a statement in lower case, without comments.
fn statement_lines(file: &File) -> impl Iterator<Item = (usize, String)> {
    file.lines().map(|(line, text)| (line, text.split("--").next().unwrap_or_default().to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    #[test]
    fn an_exception_without_a_statement_is_a_flaw() {
        let flaws =
            found(&[("crates/store/src/sqlite/sql/update_state.sql", "-- update_state\n")], used_exceptions);
        let expected =
            "crates/store/src/sqlite/sql/insert_state.sql: does not exist: remove it from the exceptions";
        assert!(flaws.starts_with(expected) && !flaws.contains("update_state.sql"), "{flaws}");
    }
}
