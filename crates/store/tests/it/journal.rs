//! PostgreSQL: nodes that follow the journal, and rows of unfinished jobs that follow it later.

use std::sync::Arc;

use tenure_core::limits::CANDIDATE_BYTES_MAX;

use crate::conformance::a_crowd;
use crate::fixture::*;
use crate::prelude::*;
use crate::stores::{self, ask, connect};

/// A number that a statement returns.
async fn number(url: &str, sql: &str) -> i64 {
    ask(url, sql).await[0][0].as_ref().expect("it returns a number").parse().expect("it returns a number")
}

/// Events that the rows of unfinished jobs may not have.
const UNSAVED: &str = "select count(*) from events, journal where position > saved";

/// Every job of a store, in the order of their ids, by single reads that save nothing.
async fn each_job(store: &Store, ids: &[JobId]) -> Vec<Option<Arc<Job>>> {
    let mut jobs = Vec::new();
    for id in ids {
        jobs.push(store.job(*id).await.unwrap());
    }
    jobs
}

/// Jobs in all phases, with renewed leases, log lines and cancel requests.
async fn some_work(store: &Store) -> Vec<JobId> {
    let mut random = Random::from_env();
    a_crowd(store, &mut random).await;
    let jobs = created(store, (0..9).map(|_| a_job("distributed")).collect()).await;
    let held = take(store, "w1", any(), 6).await;
    let mut commands: Vec<_> = held.iter().map(|job| heartbeat(&hold(job))).collect();
    commands.extend(held.iter().take(3).map(|job| append_log(job.id(), Some(&hold(job)), &["a", "b"])));
    commands.push(succeed(&hold(&held[0])));
    submit(store, commands).await;
    let known = jobs.iter().chain(&held).map(|job| job.id());
    known.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_starts_folds_what_was_not_saved() {
    let url = stores::a_database().await;
    let store = connect(&url).await;
    let ids = some_work(&store).await;
    let jobs = each_job(&store, &ids).await;
    assert!(number(&url, UNSAVED).await > 0, "rows follow later");
    let (leased, gauges) = (store.leased(None, None, 99).await.unwrap(), store.gauges().await.unwrap());
    // As after kill -9: the next node has only the database.
    drop(store);
    let store = connect(&url).await;
    assert_eq!(each_job(&store, &ids).await, jobs);
    assert_eq!(store.leased(None, None, 99).await.unwrap(), leased);
    assert_eq!(store.gauges().await.unwrap().jobs, gauges.jobs);
    assert_lawful(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saved_rows_are_those_of_the_memory() {
    let url = stores::a_database().await;
    let store = connect(&url).await;
    let ids = some_work(&store).await;
    let jobs = each_job(&store, &ids).await;
    let listed = all_jobs(&store).await;
    for job in jobs.iter().flatten() {
        assert_eq!(listed.iter().find(|listed| listed.id() == job.id()), Some(job));
    }
    assert_eq!(number(&url, UNSAVED).await, 0);
    drop(store);
    let store = connect(&url).await;
    assert_eq!(each_job(&store, &ids).await, jobs, "rows, and changes that the rows have already");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_wait_are_saved_without_a_listing() {
    let url = stores::a_database().await;
    let store = connect(&url).await;
    created(&store, (0..300).map(|_| a_job("so1")).collect()).await;
    until("heartbeats have saved all of them", async || {
        store.heartbeat().await.unwrap();
        (number(&url, "select count(*) from job_states").await == 300).then_some(())
    })
    .await;
    assert_lawful(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bytes_of_unsaved_jobs_are_limited_however_fast_jobs_are_created() {
    const PAYLOAD_BYTES: usize = 8 << 10;
    let url = stores::a_database().await;
    let store = connect(&url).await;
    let payload = format!("\"{}\"", "x".repeat(PAYLOAD_BYTES));
    let large = || Create { payload: tenure_core::json::Json::stored(&payload), ..a_job("so1") };
    let batch = 2000;
    for _ in 0..8 {
        created(&store, (0..batch).map(|_| large()).collect()).await;
    }
    let unsaved = "select count(*) from jobs where id not in (select id from job_states)";
    let bytes = number(&url, unsaved).await as usize * PAYLOAD_BYTES;
    assert!(bytes <= (64 << 20) + batch * PAYLOAD_BYTES, "{bytes} bytes of 64 MiB and a batch");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_of_the_present_at_a_node_that_has_not_followed() {
    let stores = stores::postgres().await;
    let (here, there) = (&stores.store, &stores.other);
    for n in 0..20 {
        let job = created_one(here, a_job("distributed")).await;
        let held = hold(&take(there, "w1", any(), 1).await[0]);
        assert_eq!(here.leased(None, None, 9).await.unwrap().len(), 1);
        assert_eq!(here.job(job.id()).await.unwrap().unwrap().fence, held.fence);
        // Neither a refusal nor a success may be of the past.
        let stranger = Hold { worker: "w2".into(), ..held.clone() };
        assert!(one(here, heartbeat(&stranger)).await.is_err());
        let (first, second) = if n % 2 == 0 { (here, there) } else { (there, here) };
        one(first, succeed(&held)).await.unwrap();
        assert!(one(second, heartbeat(&held)).await.is_err());
        assert_eq!(second.leased(None, None, 9).await.unwrap(), []);
    }
    assert_lawful(here).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_at_one_node_holds_at_the_sweep_of_another() {
    let stores = stores::postgres().await;
    let (here, there) = (&stores.store, &stores.other);
    created_one(here, a_job("distributed")).await;
    let held = hold(&take(here, "w1", any(), 1).await[0]);
    let id = held.job;
    let clock = async |store: &Store| store.job(id).await.unwrap().unwrap().next_clock();
    let mut last = clock(there).await;
    for _ in 0..5 {
        let at = here.job(id).await.unwrap().unwrap().times.updated_at;
        clock_after(here, at).await;
        one(here, heartbeat(&held)).await.unwrap();
        let renewed = clock(here).await;
        assert!(renewed > last, "the lease is renewed without an event");
        submit(there, vec![by("clock", Command::Sweep(id))]).await;
        assert_eq!(clock(there).await, renewed, "the sweep of the other node knows it");
        last = renewed;
    }
    assert_lawful(there).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_was_deleted_meanwhile_is_gone_at_every_node() {
    let stores = stores::postgres().await;
    let (here, there) = (&stores.store, &stores.other);
    created_one(here, a_job("brief")).await;
    assert_eq!(there.gauges().await.unwrap().jobs.len(), 1);
    let held = hold(&take(here, "w1", of_types(&["brief"]), 1).await[0]);
    one(here, succeed(&held)).await.unwrap();
    submit(here, vec![by("clock", Command::Purge(held.job))]).await;
    assert_eq!(here.job(held.job).await.unwrap(), None);
    // Its events are deleted, so the other node can know it only from the record of the deletion.
    assert_eq!(there.gauges().await.unwrap().jobs, []);
    assert_eq!(there.job(held.job).await.unwrap(), None);
    assert_eq!(take(there, "w2", any(), 9).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_too_far_behind_reads_everything_again() {
    let url = stores::a_database().await;
    let (here, there) = (connect(&url).await, connect(&url).await);
    let ids = some_work(&here).await;
    let jobs = each_job(&here, &ids).await;
    assert!(all_jobs(&here).await.len() >= ids.len(), "saved");
    ask(&url, "delete from job_changes; update journal set pruned = saved").await;
    assert_eq!(each_job(&there, &ids).await, jobs);
    assert_eq!(there.leased(None, None, 99).await.unwrap(), here.leased(None, None, 99).await.unwrap());
    assert_lawful(&there).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_beyond_the_limit_of_memory_are_claimed_and_followed() {
    let url = stores::a_database().await;
    let (here, there) = (connect(&url).await, connect(&url).await);
    let payload = format!("\"{}\"", "x".repeat((1 << 20) - 100));
    let large = || Create { payload: tenure_core::json::Json::stored(&payload), ..a_job("so1") };
    let count = 100;
    for _ in 0..count / 10 {
        created(&here, (0..10).map(|_| large()).collect()).await;
    }
    drop(here);
    // A node that starts has only the indexes of ready jobs.
    let here = connect(&url).await;
    assert!(all_jobs(&here).await.len() == count);
    let here = connect(&url).await;
    let mut taken = Vec::new();
    while taken.len() < count {
        let node = if taken.len() % 2 == 0 { &here } else { &there };
        let held = take(node, "w1", any(), 1000).await;
        let bytes: usize = held.iter().map(|job| job.bytes()).sum();
        assert!(!held.is_empty() && bytes <= CANDIDATE_BYTES_MAX + (2 << 20), "{} jobs", held.len());
        taken.extend(held);
    }
    let holds: Vec<_> = taken.iter().map(|job| succeed(&hold(job))).collect();
    assert!(submit(&there, holds).await.iter().all(Result::is_ok));
    assert_eq!(here.gauges().await.unwrap().jobs, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_stopped_reads_large_jobs_in_pages() {
    const PAGE_BYTES: i64 = 32 << 20;
    let url = stores::a_database().await;
    let (here, there) = (connect(&url).await, connect(&url).await);
    let payload = format!("\"{}\"", "x".repeat((1 << 20) - 100));
    let large = || Create { payload: tenure_core::json::Json::stored(&payload), ..a_job("so1") };
    let count = 80;
    for _ in 0..count / 10 {
        created(&here, (0..10).map(|_| large()).collect()).await;
    }
    let (client, _driver) = stores::client(&url).await;
    let tail = include_str!("../../src/postgres/sql/tail.sql");
    let page = client.query(tail, &[&0_i64, &10_000_i64, &PAGE_BYTES]).await.unwrap();
    let bytes: i64 = page.iter().map(|row| row.get::<_, i64>(1)).sum();
    assert!((PAGE_BYTES..PAGE_BYTES + (2 << 20)).contains(&bytes), "{bytes} bytes in {} rows", page.len());
    // The other node has followed nothing yet.
    assert_eq!(there.gauges().await.unwrap().jobs[0].count, count as u64);
    let taken = take(&there, "w1", any(), 1000).await;
    assert!(!taken.is_empty());
    assert_lawful(&here).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_failover_that_lost_commits_a_node_knows_what_the_database_has() {
    for restarted in [false, true] {
        let url = stores::a_database().await;
        let mut store = connect(&url).await;
        let kept = created_one(&store, a_job("so1")).await;
        let lost = created_one(&store, a_job("so1")).await;
        if restarted {
            assert_eq!(all_jobs(&store).await.len(), 2, "saved");
            store = connect(&url).await;
        }
        assert_eq!(store.gauges().await.unwrap().jobs[0].count, 2);
        lose(&url, lost.id()).await;
        until("the node has read the journal again", async || {
            let gauges = store.gauges().await.ok()?;
            (gauges.jobs[0].count == 1).then_some(())
        })
        .await;
        let taken = until("it takes jobs again", async || {
            let taken = try_submit(&store, vec![claim("w1", any(), 9)]).await.ok()?.remove(0);
            Some(claimed(taken))
        });
        assert_eq!(taken.await.iter().map(|job| job.id()).collect::<Vec<_>>(), [kept.id()]);
    }
}

/// A standby that had not received the commit that created a job becomes the primary.
async fn lose(url: &str, id: JobId) {
    let rows = [("events", "job_id"), ("job_states", "id"), ("jobs", "id")];
    for (table, column) in rows {
        ask(url, &format!("delete from {table} where {column} = '{id}'")).await;
    }
    let end = "select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()";
    ask(url, end).await;
}

/// A new connection compares its journal with the memory, which commits change meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_on_new_connections_do_not_disturb_batches() {
    let url = stores::a_database().await;
    for _ in 0..15 {
        let store = connect(&url).await;
        let reads: Vec<_> = (0..8)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move {
                    for _ in 0..5 {
                        store.gauges().await.unwrap();
                    }
                })
            })
            .collect();
        for _ in 0..8 {
            let job = created_one(&store, a_job("so1")).await;
            let taken = take(&store, "w1", any(), 9).await;
            assert_eq!(taken.iter().map(|job| job.id()).collect::<Vec<_>>(), [job.id()]);
        }
        for read in reads {
            read.await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stops_within_a_batch_delays_others_for_seconds_only() {
    let url = stores::a_database().await;
    let store = connect(&url).await;
    // A frozen process keeps its connections, and the server waits for its next statement.
    let (frozen, driver) = stores::client(&url).await;
    frozen.batch_execute(include_str!("../../src/postgres/sql/begin.sql")).await.unwrap();
    frozen.batch_execute(include_str!("../../src/postgres/sql/lock_journal.sql")).await.unwrap();
    assert_eq!(store.gauges().await.unwrap().jobs, [], "reads do not wait for it");
    created_one(&store, a_job("so1")).await;
    assert!(driver.await.unwrap().is_err(), "the server has ended its transaction");
    assert!(frozen.is_closed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_job_leaves_no_dead_rows() {
    let url = stores::a_database().await;
    let store = connect(&url).await;
    for _ in 0..20 {
        created(&store, (0..50).map(|_| a_job("distributed")).collect()).await;
        let held = take(&store, "w1", any(), 50).await;
        submit(&store, held.iter().map(|job| heartbeat(&hold(job))).collect()).await;
        submit(&store, held.iter().map(|job| succeed(&hold(job))).collect()).await;
    }
    let dead = "select sum(n_tup_upd + n_tup_del) from pg_stat_user_tables where relname in ('jobs', 'job_states', 'events', 'job_changes')";
    until("the statistics have the rows", async || {
        (number(&url, "select n_tup_ins from pg_stat_user_tables where relname = 'events'").await >= 3000)
            .then_some(())
    })
    .await;
    assert_eq!(number(&url, dead).await, 0);
}

/// The first rows that a statement of the store returns, with these values.
async fn rows_of(url: &str, sql: &str, values: &[&str]) -> usize {
    let numbered = values.iter().enumerate().rev();
    let sql = numbered.fold(sql.to_owned(), |sql, (n, value)| sql.replace(&format!("${}", n + 1), value));
    ask(url, &sql).await.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_jobs_are_followed_and_opened_in_portions() {
    let url = stores::a_database().await;
    let (here, there) = (connect(&url).await, connect(&url).await);
    let large = || Create { payload: Json::of(&"x".repeat(1_000_000)), ..a_job("distributed") };
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.extend(created(&here, (0..5).map(|_| large()).collect()).await.iter().map(|job| job.id()));
    }
    let filter = any();
    let mut held = 0;
    while held < 20 {
        held += take(&here, "w1", filter.clone(), 20).await.len();
    }
    let jobs = each_job(&here, &ids).await;
    assert_eq!(each_job(&there, &ids).await, jobs);
    assert_eq!(there.leased(None, None, 99).await.unwrap(), here.leased(None, None, 99).await.unwrap());
    let tail = include_str!("../../src/postgres/sql/tail.sql");
    let portion = rows_of(&url, tail, &["0", "10000", "8388608"]).await;
    assert!((9..20).contains(&portion), "{portion} events, with nine payloads");
    assert_eq!(rows_of(&url, tail, &["0", "10000", "1"]).await, 1, "one event always fits");
    // A listing saves the rows.
    assert_eq!(list_all(&here, JobFilter::default(), 5).await.len(), 30);
    let open = include_str!("../../src/postgres/sql/open.sql");
    let first = "'00000000-0000-0000-0000-000000000000'";
    assert_eq!(rows_of(&url, open, &["'ready'", first, "20000", "8388608"]).await, 9);
    let third = connect(&url).await;
    assert_eq!(each_job(&third, &ids).await, jobs);
    assert_eq!(third.leased(None, None, 99).await.unwrap(), here.leased(None, None, 99).await.unwrap());
    assert_lawful(&third).await;
}
