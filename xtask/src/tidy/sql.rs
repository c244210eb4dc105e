//! SQL finds and stores; Rust decides. These checks keep rules, states and clocks out of the statements, statements
//! out of the other crates, and the two databases alike.

use std::collections::{BTreeMap, BTreeSet};

use super::Flaw;
use super::tree::{File, Tree};

const STORE: &str = "crates/store/";
const SQLITE: &str = "crates/store/src/sqlite/sql/";
const POSTGRES: &str = "crates/store/src/postgres/sql/";

/// Why one database needs a statement that the other does not.
const IN_MEMORY: &str = "SQLite's one process finds live jobs in memory";
const CLOCK: &str = "the embedded store's clock is its process's, PostgreSQL's is the server's";
const ALONE: &str = "SQLite has one writer, and nobody to wait for or to race with";
const AT_ONCE: &str = "PostgreSQL reads many rows in a round trip, SQLite one by one at no cost";
const SETTINGS: &str = "SQLite's settings are pragmas";

/// Statements that only one database needs, each with its reason. The folder, the name, why the other has no twin.
const WITHOUT_TWIN: &[(&str, &str, &str)] = &[
    (POSTGRES, "begin.sql", SETTINGS),
    (POSTGRES, "settings.sql", SETTINGS),
    (POSTGRES, "claimable.sql", IN_MEMORY),
    (POSTGRES, "claimable_shelf.sql", IN_MEMORY),
    (POSTGRES, "shelves.sql", IN_MEMORY),
    (POSTGRES, "due.sql", IN_MEMORY),
    (POSTGRES, "next_run.sql", IN_MEMORY),
    (POSTGRES, "leased.sql", IN_MEMORY),
    (POSTGRES, "waiting.sql", IN_MEMORY),
    (POSTGRES, "live_counts.sql", IN_MEMORY),
    (POSTGRES, "oldest_ready.sql", IN_MEMORY),
    (SQLITE, "open.sql", IN_MEMORY),
    (POSTGRES, "now.sql", CLOCK),
    (POSTGRES, "now_batch.sql", CLOCK),
    (POSTGRES, "now_first.sql", CLOCK),
    (POSTGRES, "count_outage.sql", CLOCK),
    (SQLITE, "clock.sql", CLOCK),
    (POSTGRES, "insert_account.sql", ALONE),
    (POSTGRES, "insert_key.sql", ALONE),
    (POSTGRES, "insert_api_key.sql", ALONE),
    (POSTGRES, "load_api_keys.sql", ALONE),
    (POSTGRES, "insert_order.sql", ALONE),
    (POSTGRES, "lock_journal.sql", ALONE),
    (POSTGRES, "lock_migrations.sql", ALONE),
    (POSTGRES, "insert_commit.sql", ALONE),
    (POSTGRES, "fence_commit.sql", ALONE),
    (POSTGRES, "commit_done.sql", ALONE),
    (SQLITE, "advance_position.sql", ALONE),
    (POSTGRES, "update_hold.sql", "PostgreSQL writes a whole new row, SQLite a page that is written anyway"),
    (
        SQLITE,
        "update_live.sql",
        "SQLite touches an index whenever a column of it is set, PostgreSQL when it differs",
    ),
    (POSTGRES, "load_accounts.sql", AT_ONCE),
    (POSTGRES, "load_accounts_led_to.sql", AT_ONCE),
    (POSTGRES, "load_assets.sql", AT_ONCE),
    (POSTGRES, "load_dead_letters.sql", AT_ONCE),
    (POSTGRES, "load_job_states.sql", AT_ONCE),
    (POSTGRES, "load_jobs.sql", AT_ONCE),
    (POSTGRES, "load_keys.sql", AT_ONCE),
    (POSTGRES, "load_led_to.sql", AT_ONCE),
    (POSTGRES, "load_lifecycles.sql", AT_ONCE),
    (POSTGRES, "load_orders.sql", AT_ONCE),
    (SQLITE, "order.sql", AT_ONCE),
    (POSTGRES, "scan_events.sql", AT_ONCE),
    (POSTGRES, "scan_ledger.sql", AT_ONCE),
    (POSTGRES, "scan_logs.sql", AT_ONCE),
    (SQLITE, "dead_letter.sql", AT_ONCE),
    (SQLITE, "ledger_of_job.sql", AT_ONCE),
    (SQLITE, "ledger_sums.sql", AT_ONCE),
    (SQLITE, "lifecycle.sql", AT_ONCE),
    (SQLITE, "load_key.sql", AT_ONCE),
    (SQLITE, "log_count.sql", AT_ONCE),
];

/// What reads a clock, in either database. A name with a parenthesis counts only when it is called.
const CLOCKS: &[&str] = &[
    "now(",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "current_timestamp",
    "current_time",
    "current_date",
    "localtimestamp",
    "strftime",
    "unixepoch",
    "julianday",
    "datetime(",
];

/// The same statements for both databases, under the same names.
pub(super) fn twins(tree: &Tree) -> Vec<Flaw> {
    twins_but_for(tree, WITHOUT_TWIN)
}

fn twins_but_for(tree: &Tree, exceptions: &[(&str, &str, &str)]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (ours, theirs) in [(SQLITE, POSTGRES), (POSTGRES, SQLITE)] {
        for file in tree.ending(".sql") {
            let Some(name) = file.path.strip_prefix(ours) else { continue };
            let excepted = exceptions.iter().any(|(folder, other, _)| *folder == ours && *other == name);
            if !excepted && tree.file(&format!("{theirs}{name}")).is_none() {
                let message =
                    format!("has no twin in {theirs}: write it, or list it in tidy/sql.rs with a reason");
                flaws.push(Flaw::new(&file.path, 0, message));
            }
        }
    }
    let idle = exceptions.iter().filter(|(folder, name, _)| tree.file(&format!("{folder}{name}")).is_none());
    flaws.extend(idle.map(|(folder, name, _)| {
        Flaw::new(&format!("{folder}{name}"), 0, "is gone: take it off the exceptions in tidy/sql.rs")
    }));
    flaws
}

/// No statement in a string of any other crate, tests excepted.
pub(super) fn only_in_store(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (file, source) in tree.rust().filter(|(file, _)| !file.path.starts_with(STORE)) {
        for (line, text) in &source.literals {
            if !source.is_test(*line) && is_statement(text) {
                flaws.push(Flaw::new(
                    &file.path,
                    *line,
                    "SQL outside crates/store: ask the store for what you need",
                ));
            }
        }
    }
    flaws
}

/// Whether a string looks like SQL and not like a sentence with one of its verbs.
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

/// A query that is written over several lines has its parts on lines of their own.
fn is_statement_over_lines(text: &str) -> bool {
    let mut firsts = text.lines().filter_map(|line| line.split_whitespace().next());
    match firsts.find(|word| *word == "select" || *word == "update") {
        Some("select") => firsts.any(|word| word == "from"),
        Some(_) => firsts.any(|word| word == "set"),
        None => false,
    }
}

/// No state of the shipped lifecycles as a literal: which states there are is declared, and not the database's concern.
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
                "its [states] cannot be read, so SQL cannot be checked for them",
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

/// The clock is read in one statement per database, so that everything else is told the time.
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
    // Statements put together in Rust are statements too.
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
    CLOCKS.iter().copied().filter(move |clock| {
        text.match_indices(clock).any(|(at, _)| {
            let after = text[at + clock.len()..].chars().next();
            !text[..at].ends_with(inside_name) && (clock.ends_with('(') || !after.is_some_and(inside_name))
        })
    })
}

/// Migrations run in the order of their numbers, so each has one of its own.
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
            flaws.push(Flaw::new(&file.path, 0, "a migration's name begins with its number"));
            continue;
        };
        if let Some(first) = taken.insert((folder, number), name) {
            flaws.push(Flaw::new(
                &file.path,
                0,
                format!("{first} has this number already: take the next one"),
            ));
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
    fn a_statement_without_a_twin_is_a_flaw() {
        let files = [
            ("crates/store/src/sqlite/sql/load.sql", "-- load\n"),
            ("crates/store/src/postgres/sql/load.sql", "-- load\n"),
            ("crates/store/src/postgres/sql/listen.sql", "-- listen\n"),
            ("crates/store/src/sqlite/sql/pragmas.sql", "-- pragmas\n"),
        ];
        let flaws = found(&files, |tree| twins_but_for(tree, &[]));
        assert!(
            flaws.contains("sqlite/sql/pragmas.sql: has no twin in crates/store/src/postgres/sql/"),
            "{flaws}"
        );
        assert!(
            flaws.contains("postgres/sql/listen.sql: has no twin in crates/store/src/sqlite/sql/"),
            "{flaws}"
        );
        assert_eq!(flaws.lines().count(), 2);
        let exceptions =
            [(POSTGRES, "listen.sql", "SQLite has no channels"), (SQLITE, "pragmas.sql", "its settings")];
        assert_eq!(twins_but_for(&tree_of(&files), &exceptions), []);
        let idle = twins_but_for(&tree_of(&files[..2]), &exceptions[..1]);
        assert!(idle[0].message.starts_with("is gone"), "{idle:?}");
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
crates/store/src/postgres/migrations/last.sql: a migration's name begins with its number
crates/store/src/sqlite/migrations/1_events.sql: 0001_jobs.sql has this number already: take the next one";
        assert_eq!(found(&files, migrations), expected);
    }
}
