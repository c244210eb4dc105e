//! PostgreSQL: `explain` of every statement on tables with data, with realistic values.

use tokio_postgres::{Client, SimpleQueryMessage};

use super::with_listings;
use crate::fixture::*;
use crate::prelude::*;
use crate::stores;

/// Statements that may scan a whole table, and why.
const WHOLE: [(&str, &str); 5] = [
    ("counts", "counts every job, for pages that say so"),
    ("scan_accounts", "for verify; a page of it is a good part of a table of this size"),
    ("orphans", "verify reads every table once"),
    ("open", "a node that starts reads every unfinished job"),
    ("open_ready", "a node that starts reads every unfinished job"),
];

/// Not a single statement, or not planned.
const UNPLANNED: [(&str, &str); 4] = [
    ("begin", "several statements"),
    ("intake_installed", "reads the catalog"),
    ("migrations", "makes a table"),
    ("tables_found", "reads the catalog"),
];

/// Sent with sequential scans disabled, so that an index is used.
const BY_INDEX: [&str; 3] =
    ["list by state as far as a place", "list by type as far as a place", "list what is not over"];

/// Tables that grow with the work; the others have a few rows.
const LARGE: [&str; 10] = [
    "jobs",
    "job_states",
    "events",
    "telemetry",
    "logs",
    "keys",
    "ledger",
    "dead_letters",
    "accounts",
    "workers",
];

/// Twenty thousand jobs, some of them in every other table.
async fn fill(store: &Store) {
    for batch in 0..20 {
        let users: Vec<_> = (0..1000).map(|n| format!("user-{batch}-{n}")).collect();
        submit(store, users.iter().map(|user| grant(user, 5)).collect()).await;
        let creations = (0..1000).map(|n| {
            let links = Links {
                correlation_id: (n % 7 == 0).then(|| format!("c{}", n / 7).as_str().into()),
                ..Links::default()
            };
            let key = if n % 3 == 0 { key(&format!("k{batch}-{n}"), 1) } else { a_job("so1").key };
            Create { user_id: Some(users[n].as_str().into()), key, links, ..a_job("distributed") }
        });
        let jobs = created(store, creations.collect()).await;
        let workers: Vec<_> = users.iter().map(|user| (user.as_str(), None)).collect();
        submit(store, vec![seen(&workers)]).await;
        let held = take(store, "w1", any(), 400).await;
        let mut commands: Vec<_> = held.iter().map(|job| heartbeat(&hold(job))).collect();
        commands.extend(jobs.iter().take(300).map(|job| append_log(job.id(), None, &["line"])));
        submit(store, commands).await;
        let dead = held[..200].iter().map(|job| dead_letter(job.id(), ReasonCode::Timeout));
        let ends = dead.chain(held[200..].iter().map(|job| succeed(&hold(job))));
        submit(store, ends.collect()).await;
    }
}

async fn rows(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

/// Values that a busy store would send: PostgreSQL plans for them.
const SENT: [(&str, &[&str]); 8] = [
    (
        "claimable",
        &["'{default,default}'", "'{distributed,distributed}'", "'{0,1}'", "'{0,0}'", NO_IDS, NOW, "64"],
    ),
    (
        "claimable_slot",
        &["'default'", "'distributed'", "0", "0", "'00000000-0000-0000-0000-000000000000'", NOW, "64"],
    ),
    ("completed_between", &["'distributed'", SINCE, "'00000000-0000-0000-0000-000000000000'", NOW, "100"]),
    ("due", &["100000", "100000000", "100"]),
    ("events", &["20000", "500"]),
    ("finished", &[SINCE, "500"]),
    ("oldest_ready", &[NOW]),
    ("ready_jobs", &[NOW, "64", "'{default}'", "'{distributed}'"]),
];
const SINCE: &str = "0";
const NOW: &str = "4000000000000";
const NO_IDS: &str = "'{00000000-0000-0000-0000-000000000000,00000000-0000-0000-0000-000000000000}'";

/// A value of a type, for every other statement.
fn value(of: &str) -> &'static str {
    match of {
        "bigint" | "integer" => "100",
        "bigint[]" | "integer[]" => "'{1,2,3}'",
        "text" => "'user-1-1'",
        "text[]" => "'{user-1-1,user-1-2,user-1-3}'",
        "uuid" => "'018bcfe5-6800-7000-8000-000000000000'",
        "uuid[]" => "'{018bcfe5-6800-7000-8000-000000000000,018bcfe5-6800-7000-8000-000000000001}'",
        "boolean" => "false",
        "boolean[]" => "'{false,true,true}'",
        "bytea[]" => "'{a,b,c}'",
        other => panic!("no value of type {other}"),
    }
}

async fn plan(client: &Client, name: &str, sql: &str) -> Vec<String> {
    rows(client, &format!("prepare it as {sql}")).await;
    let types = "select unnest(parameter_types)::text from pg_prepared_statements where name = 'it'";
    let types = rows(client, types).await;
    let sent = SENT.iter().find(|(of, _)| *of == name).map(|(_, sent)| sent.to_vec());
    let values = sent.unwrap_or_else(|| types.iter().map(|of| value(of)).collect()).join(", ");
    let call = if values.is_empty() { String::new() } else { format!("({values})") };
    let plan = rows(client, &format!("explain execute it{call}")).await;
    rows(client, "deallocate it").await;
    plan
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_statement_of_postgres_uses_an_index() {
    let url = stores::a_database().await;
    let store = stores::connect(&url).await;
    fill(&store).await;
    // Saves the rows of unfinished jobs.
    assert_eq!(list_all(&store, JobFilter::default(), 500).await.len(), 20_000);
    let (client, _driver) = stores::client(&url).await;
    rows(&client, "vacuum analyze").await;
    let mut broken = Vec::new();
    for (name, sql) in with_listings("postgres", |n| format!("${n}")) {
        if UNPLANNED.iter().chain(&WHOLE).any(|(allowed, _)| *allowed == name) {
            continue;
        }
        let scans = if BY_INDEX.contains(&name.as_str()) { "off" } else { "on" };
        rows(&client, &format!("set enable_seqscan = {scans}")).await;
        let plan = plan(&client, &name, &sql).await;
        let whole = |line: &String| {
            let table = line.split_once("Seq Scan on ").and_then(|(_, rest)| rest.split(' ').next());
            table.is_some_and(|table| LARGE.contains(&table))
        };
        if plan.iter().any(whole) {
            broken.push(format!("{name} reads a table whole:\n{}", plan.join("\n")));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
}
