//! A store written by an older version is migrated when opened, without losing anything.

use rusqlite::Connection;

use crate::conformance::page;
use crate::fixture::*;
use crate::prelude::*;
use crate::stores;

/// Removes what later migrations created in both databases.
const LATER: &str = "
    drop table intake_records;
    drop table statistics;
    drop table assets;
    drop table asset_garbage;
    drop table orders;
    drop table nodes;
    drop table api_keys;
    drop table sessions;
    drop table flow_records;
    drop table workers;
    drop index audit_without_job;
    alter table audit drop column details;
    alter table jobs drop column flow;
    alter table job_states drop column amended;
    drop index dead_letters_open;
    alter table dead_letters drop column created_at;";

/// Restores what a database had when commits updated the rows of jobs.
const ROWS_FIRST: &str = "
    drop table job_changes;
    alter table job_states drop column flow;
    drop table journal;
    drop index job_states_live;
    alter table job_states add column ready boolean, add column clock_slot bigint;
    update job_states set ready = phase = 'ready', clock_slot = clock_at / 8192;
    alter table job_states alter column ready set not null;
    create index job_states_ready on job_states (queue, type, priority desc, run_at, id) where ready;
    create index job_states_clock on job_states (clock_slot) where clock_slot is not null;
    create index job_states_busy on job_states (id) where not ready and completed_at is null;
    create table live_count_changes (id bigint);";

/// Removes table and functions of the intake.
const WITHOUT_INTAKE: &str = "
    drop table intake;
    drop function new_id, enqueue, cancel, signal;";

/// Moves the tables to where they were before they had a schema.
const WITHOUT_SCHEMA: &str = "
    do $$ declare it record; begin
        for it in select tablename from pg_tables where schemaname = 'tenure' loop
            execute format('alter table tenure.%I set schema public', it.tablename);
        end loop;
    end $$;
    alter sequence tenure.positions set schema public;";

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
    // A listing saves the rows of unfinished jobs.
    assert_eq!(all_jobs(&store).await.len(), 6);
    drop(store);
    let as_it_was = format!(
        "{ROWS_FIRST} {LATER} drop index job_states_busy; drop table live_count_changes; alter table clock drop column ahead;
         delete from migrations where number > 2;"
    );
    stores::ask(&url, WITHOUT_INTAKE).await;
    stores::ask(&url, &as_it_was).await;
    stores::ask(&url, WITHOUT_SCHEMA).await;
    let store = stores::connect(&url).await;
    is_up_to_date(&store, &gauges).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_without_a_schema_are_moved_and_those_of_others_are_not() {
    let url = stores::a_database().await;
    let store = stores::connect(&url).await;
    let gauges = some_past(&store).await;
    drop(store);
    stores::ask(&url, WITHOUT_INTAKE).await;
    stores::ask(&url, "drop index audit_without_job; drop table statistics; drop table intake_records; drop table flow_records; alter table journal drop column flow; alter table job_states drop column flow; delete from migrations where number > 14").await;
    stores::ask(&url, WITHOUT_SCHEMA).await;
    stores::ask(&url, "create table public.orders_of_a_shop (id int); drop schema tenure").await;
    // Another schema is another store, which leaves them alone.
    let other = Store::connect_to(&url, "second").await.unwrap();
    assert_eq!(all_jobs(&other).await.len(), 0);
    let in_public =
        "select count(*) from pg_tables where schemaname = 'public' and tablename in ('jobs', 'events')";
    assert_eq!(stores::ask(&url, in_public).await[0][0].as_deref(), Some("2"));
    let store = stores::connect(&url).await;
    is_up_to_date(&store, &gauges).await;
    let left =
        stores::ask(&url, "select relname from pg_class where relnamespace = 'public'::regnamespace").await;
    assert_eq!(left, [[Some("orders_of_a_shop".to_owned())]]);
    assert_eq!(all_jobs(&other).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_of_migrations_of_another_program_stays_where_it_is() {
    let url = stores::a_database().await;
    let theirs = "create table public.migrations (number integer, checksum text); insert into public.migrations values (1, 'x');
        create table public.jobs (id int)";
    stores::ask(&url, theirs).await;
    let store = stores::connect(&url).await;
    created(&store, vec![a_job("distributed")]).await;
    assert_eq!(stores::ask(&url, "select count(*) from public.migrations").await[0][0].as_deref(), Some("1"));
    assert_eq!(stores::ask(&url, "select count(*) from public.jobs").await[0][0].as_deref(), Some("0"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_cannot_create_schemas_uses_one_that_exists() {
    let url = stores::a_database().await;
    let role = format!("limited_{}", std::process::id());
    stores::ask(&url, &format!("create role {role} login; create schema tenure authorization {role}")).await;
    let store = stores::connect(&url.replacen("postgres@", &format!("{role}@"), 1)).await;
    assert_eq!(created(&store, vec![a_job("distributed")]).await.len(), 1);
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
        drop index audit_without_job; alter table audit drop column details; alter table jobs drop column flow; drop table intake_records; drop table statistics;
        alter table job_states drop column amended; drop table sessions; drop table flow_records; delete from migrations where number > 8;";
    file.execute_batch(older).unwrap();
    drop(file);
    let store = stores::open(folder.path()).await;
    assert_eq!(store.api_keys().await.unwrap(), keys);
    let revoked = one(&store, by("admin:ann", Command::RevokeKey("k".into()))).await.unwrap();
    assert!(matches!(revoked, CommandOutput::Key { key, .. } if key.revoked_at.is_some()));
}
