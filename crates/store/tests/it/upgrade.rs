//! A store written by an older version is migrated when opened, without losing anything.

use rusqlite::Connection;

use crate::conformance::page;
use crate::fixture::*;
use crate::prelude::*;
use crate::stores;

/// Removes what later migrations created in both databases.
const LATER: &str = "
    drop table assets;
    drop table asset_garbage;
    drop table orders;
    drop table nodes;
    drop table api_keys;
    drop table sessions;
    drop table workers;
    alter table audit drop column details;
    alter table jobs drop column flow;
    alter table job_states drop column amended;
    drop index dead_letters_open;
    alter table dead_letters drop column created_at;";

/// Creates jobs in several states and three dead letters, one of them dismissed; returns the gauges.
async fn some_past(store: &Store) -> Gauges {
    let jobs = created(store, (0..6).map(|_| a_job("distributed")).collect()).await;
    take(store, "w1", any(), 4).await;
    for job in &jobs[..3] {
        let over = job_of(one(store, dead_letter(job.id(), ReasonCode::Timeout)).await);
        clock_after(store, over.times.completed_at.expect("it is over")).await;
    }
    one(store, dismiss(jobs[0].id())).await.unwrap();
    let gauges = store.gauges().await.unwrap();
    let letters = store.dead_letters(DeadLetterFilter::default(), page(9)).await.unwrap();
    assert_eq!(gauges.dead_letters, 2);
    assert_eq!(gauges.oldest_dead_letter, letters.iter().map(|letter| letter.created_at).min());
    gauges
}

async fn is_up_to_date(store: &Store, gauges: &Gauges) {
    assert_eq!(store.gauges().await.unwrap(), *gauges);
    let letters = store.dead_letters(DeadLetterFilter::default(), page(9)).await.unwrap();
    assert_eq!(letters.len(), 2);
    one(store, seen(&[("w1", None)])).await.unwrap();
    assert_eq!(store.workers().await.unwrap().len(), 1);
    assert_lawful(store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_the_first_schema_is_migrated() {
    let folder = stores::a_folder();
    let store = stores::open(folder.path()).await;
    let gauges = some_past(&store).await;
    drop(store);
    let file = Connection::open(folder.path().join("tenure.db")).unwrap();
    let later = format!(
        "drop index job_states_retention; alter table job_states drop column lifecycle; {LATER}
         delete from migrations where number > 1;"
    );
    file.execute_batch(&later).unwrap();
    drop(file);
    let store = stores::open(folder.path()).await;
    is_up_to_date(&store, &gauges).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_an_older_schema_is_migrated() {
    let url = stores::a_database().await;
    let store = stores::connect(&url).await;
    let gauges = some_past(&store).await;
    drop(store);
    let as_it_was = format!(
        "{LATER} drop table live_count_changes; drop index job_states_busy; alter table clock drop column ahead;
         delete from migrations where number > 2;"
    );
    stores::ask(&url, &as_it_was).await;
    let store = stores::connect(&url).await;
    is_up_to_date(&store, &gauges).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_opened_read_only_returns_the_same() {
    let folder = stores::a_folder();
    let store = stores::open(folder.path()).await;
    let gauges = some_past(&store).await;
    let reader = tenure_store::Store::open_to_read(folder.path()).await.unwrap();
    // The clock of the reader begins at the last time in the file.
    let same = async || (reader.gauges().await.unwrap() == gauges).then_some(());
    until("the reader tells the same", same).await;
    assert_eq!(reader.leased(None, None, 9).await.unwrap(), store.leased(None, None, 9).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn api_keys_of_an_older_schema_stay_as_they_were() {
    let folder = stores::a_folder();
    let store = stores::open(folder.path()).await;
    let new = NewKey::new("k", Role::Admin, None, [7; 32]);
    one(&store, by("admin:ann", Command::AddKey(Box::new(new)))).await.unwrap();
    let keys = store.api_keys().await.unwrap();
    drop(store);
    let file = Connection::open(folder.path().join("tenure.db")).unwrap();
    let older = "alter table api_keys drop column details; alter table api_keys drop column last_used_at;
        alter table audit drop column details; alter table jobs drop column flow;
        alter table job_states drop column amended; drop table sessions; delete from migrations where number > 8;";
    file.execute_batch(older).unwrap();
    drop(file);
    let store = stores::open(folder.path()).await;
    assert_eq!(store.api_keys().await.unwrap(), keys);
    let revoked = one(&store, by("admin:ann", Command::RevokeKey("k".into()))).await.unwrap();
    assert!(matches!(revoked, CommandOutput::Key { key, .. } if key.revoked_at.is_some()));
}
