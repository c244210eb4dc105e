//! Checks SQL: no rules, states and clocks in statements, no statements outside the store, the same statements for both
//! databases.

use std::collections::{BTreeMap, BTreeSet};

use super::Flaw;
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
    OneDatabaseOnly { postgres: "begin settings", sqlite: "" },
    // SQLite's one process finds live jobs in memory.
    OneDatabaseOnly {
        postgres: "claim_index claimable claimable_slot due leased live_counts next_run oldest_ready waiting",
        sqlite: "open",
    },
    // The embedded store uses the clock of its process, PostgreSQL that of the database server.
    OneDatabaseOnly { postgres: "count_outage now now_batch now_first", sqlite: "clock" },
    // SQLite has one writer, so nothing to lock and no races.
    OneDatabaseOnly {
        postgres: "commit_done fence_commit insert_account insert_api_key insert_automation insert_commit \
                   insert_key load_api_keys lock_journal lock_migrations",
        sqlite: "advance_position",
    },
    // PostgreSQL writes a whole new row, SQLite only the page.
    OneDatabaseOnly { postgres: "update_hold", sqlite: "" },
    // SQLite updates an index when one of its columns is set, PostgreSQL when it differs.
    OneDatabaseOnly { postgres: "", sqlite: "update_live" },
    // PostgreSQL reads many rows in a round trip, SQLite has no round trips.
    OneDatabaseOnly {
        postgres: "load_accounts load_accounts_led_to load_assets load_automations load_dead_letters \
                   load_job_states load_jobs load_keys load_led_to load_lifecycles scan_events scan_ledger \
                   scan_logs",
        sqlite: "automation dead_letter ledger_of_job ledger_sums lifecycle load_key log_count",
    },
];

/// Functions that read a clock, in either database. One with a parenthesis counts only as a call.
const CLOCKS: &str = "now( clock_timestamp statement_timestamp transaction_timestamp current_timestamp current_time \
                      current_date localtimestamp strftime unixepoch julianday datetime(";

/// Both databases have the same statements, under the same names.
pub(super) fn twins(tree: &Tree) -> Vec<Flaw> {
    twins_except(tree, ONE_DATABASE_ONLY)
}

fn twins_except(tree: &Tree, exceptions: &[OneDatabaseOnly]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (ours, theirs) in [(SQLITE, POSTGRES), (POSTGRES, SQLITE)] {
        let lists = exceptions.iter().map(|group| if ours == SQLITE { group.sqlite } else { group.postgres });
        let excepted: Vec<&str> = lists.flat_map(str::split_whitespace).collect();
        for file in tree.ending(".sql") {
            let Some(name) = file.path.strip_prefix(ours) else { continue };
            let is_excepted = excepted.contains(&name.trim_end_matches(".sql"));
            if !is_excepted && tree.file(&format!("{theirs}{name}")).is_none() {
                let message =
                    format!("is missing in {theirs}: add it, or list it in tidy/sql.rs with a reason");
                flaws.push(Flaw::new(&file.path, 0, message));
            }
        }
        let paths = excepted.iter().map(|name| format!("{ours}{name}.sql"));
        flaws.extend(
            paths.filter(|path| tree.file(path).is_none()).map(|path| {
                Flaw::new(&path, 0, "does not exist: remove it from the exceptions in tidy/sql.rs")
            }),
        );
    }
    flaws
}

/// No statement in a string of another crate, except in tests.
pub(super) fn only_in_store(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (file, source) in tree.rust().filter(|(file, _)| !file.path.starts_with(STORE)) {
        for (line, text) in &source.literals {
            if !source.is_test(*line) && is_statement(text) {
                flaws.push(Flaw::new(
                    &file.path,
                    *line,
                    "SQL outside crates/store: add a method to the store",
                ));
            }
        }
    }
    flaws
}

/// Whether a string looks like SQL and not like a sentence with one of its keywords.
fn is_statement(text: &str) -> bool {
    let text = text.to_lowercase();
    text.split(['\n', ';', '(']).any(|part| {
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
        match file
            .text
            .parse::<toml::Table>()
            .ok()
            .and_then(|file| Some(file.get("states")?.as_table()?.clone()))
        {
            Some(table) => states.extend(table.into_iter().map(|(name, _)| name)),
            None => flaws.push(Flaw::new(
                &file.path,
                0,
                "its [states] cannot be read, so SQL cannot be checked: correct the file",
            )),
        }
    }
    for file in tree.ending(".sql") {
        for (line, text) in statement_lines(file) {
            for state in states.iter().filter(|state| text.contains(&format!("'{state}'"))) {
                let message = format!("'{state}' is a state: search by a column that core computes");
                flaws.push(Flaw::new(&file.path, line, message));
            }
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
            flaws.extend(clocks(&text).map(|clock| Flaw::new(&file.path, line, message(clock))));
        }
    }
    // Statements that are assembled in Rust.
    for (file, source) in tree.rust().filter(|(file, _)| file.path.starts_with(STORE)) {
        for (line, text) in source.literals.iter().filter(|(line, _)| !source.is_test(*line)) {
            flaws.extend(
                clocks(&text.to_lowercase()).map(|clock| Flaw::new(&file.path, *line, message(clock))),
            );
        }
    }
    flaws
}

fn clocks(text: &str) -> impl Iterator<Item = &'static str> {
    let inside_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    CLOCKS.split(' ').filter(move |clock| {
        text.match_indices(clock).any(|(at, _)| {
            let after = text[at + clock.len()..].chars().next();
            !text[..at].ends_with(inside_name) && (clock.ends_with('(') || !after.is_some_and(inside_name))
        })
    })
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
            flaws.push(Flaw::new(&file.path, 0, "begin the name of a migration with its number"));
            continue;
        };
        if let Some(first) = taken.insert((folder, number), name) {
            flaws.push(Flaw::new(&file.path, 0, format!("{first} has the same number: use the next one")));
        }
    }
    flaws
}

/// The lines of a statement in lower case, without comments.
fn statement_lines(file: &File) -> impl Iterator<Item = (usize, String)> {
    let lines = file.text.lines().enumerate();
    lines.map(|(index, line)| (index + 1, line.split("--").next().unwrap_or_default().to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{found, tree_of};
    use super::*;

    #[test]
    fn a_statement_of_only_one_database_is_a_flaw() {
        let files = [
            ("crates/store/src/sqlite/sql/load.sql", "-- load\n"),
            ("crates/store/src/postgres/sql/load.sql", "-- load\n"),
            ("crates/store/src/postgres/sql/listen.sql", "-- listen\n"),
            ("crates/store/src/sqlite/sql/pragmas.sql", "-- pragmas\n"),
        ];
        let flaws = found(&files, |tree| twins_except(tree, &[]));
        assert!(
            flaws.contains("sqlite/sql/pragmas.sql: is missing in crates/store/src/postgres/sql/"),
            "{flaws}"
        );
        assert!(
            flaws.contains("postgres/sql/listen.sql: is missing in crates/store/src/sqlite/sql/"),
            "{flaws}"
        );
        assert_eq!(flaws.lines().count(), 2);
        let exceptions = [OneDatabaseOnly { postgres: "listen", sqlite: "pragmas" }];
        assert_eq!(twins_except(&tree_of(&files), &exceptions), []);
        let idle = twins_except(&tree_of(&files[..2]), &exceptions);
        assert!(idle[0].message.starts_with("does not exist"), "{idle:?}");
    }

    #[test]
    fn sql_outside_the_store_is_a_flaw() {
        for statement in [
            "select id from jobs",
            "SELECT id, name FROM jobs WHERE true",
            "with a as (select 1 from b)",
            "insert into jobs values (1)",
            "insert or ignore into jobs values (1)",
            "update jobs set a = 1",
            "begin; delete from jobs",
            "\n    select id\n    from jobs\n",
            "update jobs\n set a = 1",
        ] {
            let text = format!("//! Why.\nconst A: &str = r#\"{statement}\"#;\n");
            let flaw = found(&[("crates/runtime/src/lib.rs", &text)], only_in_store);
            assert!(flaw.starts_with("crates/runtime/src/lib.rs:2: SQL outside"), "{statement}: {flaw}");
            assert_eq!(found(&[("crates/store/src/lib.rs", &text)], only_in_store), "");
            assert_eq!(found(&[("crates/runtime/tests/it/main.rs", &text)], only_in_store), "");
        }
    }

    #[test]
    fn a_sentence_is_not_sql() {
        for sentence in
            ["select a state", "to update the settings, set them", "the job was deleted from its queue"]
        {
            assert!(!is_statement(sentence), "{sentence}");
        }
    }

    const LIFECYCLE: (&str, &str) = ("lifecycles/a.toml", "[states]\nfailed = { outcome = 'failed' }\n");

    #[test]
    fn a_state_in_a_statement_is_a_flaw() {
        let sql = "-- not 'failed' ones\nselect 'failed_at', failed\nfrom jobs where state = 'failed' and phase = 'ready'\n";
        let flaw = found(&[LIFECYCLE, ("crates/store/a.sql", sql)], no_state_names);
        assert_eq!(flaw, "crates/store/a.sql:3: 'failed' is a state: search by a column that core computes");
    }

    #[test]
    fn a_lifecycle_that_cannot_be_read_is_a_flaw() {
        assert!(found(&[("lifecycles/a.toml", "name = 'a'\n")], no_state_names).contains("cannot be read"));
    }

    #[test]
    fn a_clock_elsewhere_is_a_flaw() {
        let now = "-- now\nselect unixepoch('subsec'), now()\n";
        let late = "-- not now()\nselect *, known(1), current_time_zone from jobs where at < CURRENT_TIMESTAMP\nor at < now()\n";
        let rust = "//! Why.\nconst A: &str = \"at < clock_timestamp()\";\nfn b() { now() }\n";
        let files = [
            ("crates/store/src/sqlite/sql/now.sql", now),
            ("crates/store/src/postgres/sql/now_monotonic.sql", now),
            ("crates/store/src/sqlite/sql/late.sql", late),
            ("crates/store/src/list.rs", rust),
        ];
        let flaws = found(&files, one_clock);
        let expected = "\
crates/store/src/sqlite/sql/late.sql:2: current_timestamp reads a clock: only now.sql does; take the time as a parameter
crates/store/src/sqlite/sql/late.sql:3: now( reads a clock: only now.sql does; take the time as a parameter
crates/store/src/list.rs:2: clock_timestamp reads a clock: only now.sql does; take the time as a parameter";
        assert_eq!(flaws, expected);
    }

    #[test]
    fn two_migrations_with_one_number_are_a_flaw() {
        let files = [
            ("crates/store/src/sqlite/migrations/0001_jobs.sql", "-- a\n"),
            ("crates/store/src/sqlite/migrations/1_events.sql", "-- b\n"),
            ("crates/store/src/postgres/migrations/0001_jobs.sql", "-- c\n"),
            ("crates/store/src/postgres/migrations/last.sql", "-- d\n"),
        ];
        let expected = "\
crates/store/src/postgres/migrations/last.sql: begin the name of a migration with its number
crates/store/src/sqlite/migrations/1_events.sql: 0001_jobs.sql has the same number: use the next one";
        assert_eq!(found(&files, migrations), expected);
    }
}
