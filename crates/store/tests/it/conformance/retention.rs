//! Retention: purging jobs and pruning expired records.

use std::sync::Arc;

use tenure_core::credit::Account;
use tenure_core::erasure::Erase;
use tenure_core::id::UserId;
use uuid::Uuid;

use crate::conformance::{journal, page};
use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

/// A finished job that can be purged, with a log and telemetry.
async fn a_brief_job(store: &Store) -> JobId {
    let job = created_one(store, Create { user_id: Some("ann".into()), ..a_job("brief") }).await;
    let held = hold(&take(store, "w1", of_types(&["brief"]), 1).await[0]);
    let log = append_log(job.id(), Some(&held), &["line"]);
    submit(store, vec![log, heartbeat(&held)]).await;
    one(store, succeed(&held)).await.unwrap();
    job.id()
}

pub(crate) async fn a_purged_job_leaves_only_ledger_and_audit_lines(stores: TestStores) {
    let store = &stores.store;
    submit(store, vec![grant("ann", 5)]).await;
    let id = a_brief_job(store).await;
    let stays = created_one(store, Create { user_id: Some("ann".into()), ..a_job("paid") }).await;
    assert_eq!(store.logs(id, 0, 9).await.unwrap().len(), 1);
    assert!(!store.telemetry(id, 0, 99).await.unwrap().is_empty());
    let (ledger, trail) = (store.ledger("ann".into(), 0, 9).await.unwrap(), store.audit(0, 9).await.unwrap());
    let purge = |id| by("clock", Command::Purge(id));
    let results = submit(&stores.other, vec![purge(id), purge(stays.id())]).await;
    assert!(results.iter().all(|result| *result == Ok(CommandOutput::Nothing)));
    for node in [&stores.store, &stores.other] {
        assert_eq!(node.job(id).await.unwrap(), None);
        assert_eq!(node.whole_history(id).await.unwrap(), []);
        assert_eq!(node.logs(id, 0, 9).await.unwrap(), []);
        assert_eq!(node.telemetry(id, 0, 99).await.unwrap(), []);
        assert_eq!(all_jobs(node).await.iter().map(|job| job.id()).collect::<Vec<_>>(), [stays.id()]);
        assert!(journal(node, 9).await.iter().all(|line| line.event.job_id == stays.id()));
        assert_eq!(node.ledger("ann".into(), 0, 9).await.unwrap(), ledger);
        assert_eq!(node.audit(0, 9).await.unwrap(), trail);
    }
    assert!(one(store, purge(id)).await.is_err(), "it does not exist any more");
    assert_lawful(store).await;
}

pub(crate) async fn an_erased_user_keeps_amounts_under_an_alias(stores: TestStores) {
    let store = &stores.store;
    let user = || UserId::from("ann");
    submit(store, vec![grant("ann", 10), grant("bob", 4)]).await;
    let paid = || Create { user_id: Some(user()), ..a_job("paid") };
    let jobs = created(store, vec![paid(), paid()]).await;
    let held: Vec<_> = take(store, "w1", any(), 2).await.iter().map(|job| hold(job)).collect();
    one(store, succeed(&held[0])).await.unwrap();
    let erase = Erase { user: user(), alias: "erased-1".into(), reason: "asked".to_owned() };
    let erase = by("operator:ann", Command::Erase(Box::new(erase)));
    one(&stores.other, erase.clone()).await.unwrap();
    let again = one(store, erase).await;
    assert!(matches!(again, Ok(CommandOutput::Automation { replayed: true, .. })), "{again:?}");
    let delete = |job: &Arc<Job>| by("clock", Command::DeleteErased { user: user(), job: job.id() });
    let finish = || by("clock", Command::FinishErasure(user()));
    submit(store, vec![delete(&jobs[0]), delete(&jobs[1]), finish()]).await;
    let left: Vec<_> = all_jobs(&stores.other).await.iter().map(|job| job.id()).collect();
    assert_eq!(left, [held[1].job], "it is unfinished");
    assert_eq!(store.account(user()).await.unwrap().reserved, 3, "the erasure is open");

    // In one batch: a movement, the end of the erasure, and a movement of a new account with the same name.
    let mine = jobs.iter().find(|job| job.id() == held[1].job).unwrap();
    let results =
        submit(store, vec![succeed(&held[1]), delete(mine), grant("ann", 1), finish(), grant("ann", 2)])
            .await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    for node in [&stores.store, &stores.other] {
        assert_eq!(node.account(user()).await.unwrap(), Account { granted: 2, reserved: 0, spent: 0 });
        let alias = node.account("erased-1".into()).await.unwrap();
        assert_eq!(alias, Account { granted: 11, reserved: 0, spent: 6 });
        let lines = node.ledger("erased-1".into(), 0, 9).await.unwrap();
        assert_eq!(lines.len(), 6);
        assert!(lines.iter().all(|(_, line)| line.reason.is_none()), "{lines:?}");
        assert_eq!(node.ledger(user(), 0, 9).await.unwrap().len(), 1);
        assert_eq!(node.ledger("bob".into(), 0, 9).await.unwrap().len(), 1);
        assert_eq!(node.automations(AutomationKind::Erasure).await.unwrap(), []);
    }
    assert!(one(store, finish()).await.is_err(), "it does not exist any more");
    assert_lawful(store).await;
}

pub(crate) async fn positions_are_not_reused(stores: TestStores) {
    let store = &stores.store;
    let id = a_brief_job(store).await;
    let last = journal(store, 9).await.last().expect("there were events").position;
    one(store, by("clock", Command::Purge(id))).await.unwrap();
    assert_eq!(store.events(Position(0), 9).await.unwrap(), []);
    created_one(&stores.other, a_job("so1")).await;
    let next = store.events(last, 9).await.unwrap();
    assert_eq!(next.len(), 1, "a follower that has read everything does not miss later events");
}

pub(crate) async fn expired_records_are_pruned(stores: TestStores) {
    let store = &stores.store;
    let keyed = |job_type| Create { key: key("k", 1), ..a_job(job_type) };
    let brief = created_one(store, keyed("brief")).await;
    let kept = created_one(store, keyed("so1")).await;
    let held: Vec<_> = take(store, "w1", any(), 2).await.iter().map(|job| hold(job)).collect();
    submit(store, held.iter().map(heartbeat).collect()).await;
    assert_eq!(store.telemetry(brief.id(), 0, 99).await.unwrap().len(), 1);
    one(&stores.other, by("clock", Command::Prune)).await.unwrap();
    assert_eq!(store.telemetry(brief.id(), 0, 99).await.unwrap(), []);
    assert_eq!(store.telemetry(kept.id(), 0, 99).await.unwrap().len(), 1, "it is kept for a day");
    let replayed = async |job_type| {
        let result = one(store, create(keyed(job_type))).await;
        matches!(result, Ok(CommandOutput::Job { replayed: true, .. }))
    };
    assert!(!replayed("brief").await, "its key has expired");
    assert!(replayed("so1").await, "its key lasts a day");
}

pub(crate) async fn a_limited_number_of_expired_records_is_pruned_at_once(stores: TestStores) {
    let store = &stores.store;
    assert!(!stores.other.has_expired().await.unwrap());
    let keyed = |n| Create { key: key(&format!("k{n}"), 1), ..a_job("brief") };
    created(store, (0..=limits::PRUNE_ROWS_MAX).map(keyed).collect()).await;
    one(store, seen(&[("w1", None)])).await.unwrap();
    for has_more in [true, false] {
        assert!(stores.other.has_expired().await.unwrap());
        one(store, by("clock", Command::Prune)).await.unwrap();
        assert_eq!(stores.other.has_expired().await.unwrap(), has_more);
    }
    created_one(store, Create { key: key("kept", 1), ..a_job("so1") }).await;
    assert!(!stores.other.has_expired().await.unwrap(), "its key lasts a day");
    let held = hold(&take(store, "w1", of_types(&["brief"]), 1).await[0]);
    one(store, heartbeat(&held)).await.unwrap();
    assert!(stores.other.has_expired().await.unwrap(), "its telemetry has expired");
}

pub(crate) async fn finished_jobs_are_found_by_age(stores: TestStores) {
    let store = &stores.store;
    let mut ended = Vec::new();
    for job_type in ["brief", "so1", "brief", "brief"] {
        created_one(store, a_job(job_type)).await;
        let held = hold(&take(store, "w1", any(), 1).await[0]);
        let over = job_of(one(store, fail(&held, Class::Permanent)).await);
        let at = over.times.completed_at.expect("it is finished");
        ended.push(CompletedJob { id: over.id(), lifecycle_version: 1, completed_at: at });
        clock_after(store, at).await;
    }
    created_one(store, a_job("brief")).await;
    let between = async |after: Timestamp, job: JobId, before: Timestamp, limit: usize| {
        stores.other.completed_between("brief".into(), after, job, before, limit).await.unwrap()
    };
    let (first, now) = (JobId(Uuid::nil()), store.now().await.unwrap().at);
    assert_eq!(between(Timestamp(0), first, now, 9).await, [ended[0], ended[2], ended[3]]);
    assert_eq!(between(Timestamp(0), first, now, 2).await, [ended[0], ended[2]]);
    assert_eq!(between(Timestamp(0), first, ended[2].completed_at, 9).await, [ended[0]], "before, not at");
    let CompletedJob { id, completed_at, .. } = ended[0];
    assert_eq!(between(completed_at, id, now, 9).await, [ended[2], ended[3]], "after the job");
    assert_eq!(between(completed_at, first, now, 9).await, [ended[0], ended[2], ended[3]]);
    assert_eq!(store.dead_letters(DeadLetterFilter::default(), page(5)).await.unwrap(), []);
}

pub(crate) async fn a_scan_of_large_jobs_has_short_pages(stores: TestStores) {
    let large = || Create { payload: Json::of(&"x".repeat(1_000_000)), ..a_job("so1") };
    let mut jobs = Vec::new();
    for _ in 0..4 {
        jobs.extend(created(&stores.store, (0..5).map(|_| large()).collect()).await);
    }
    let mut pages = Vec::new();
    let next = async |last: Option<&Scanned>| {
        let page = stores.other.scan(last.map(|it| it.id), 1000).await?;
        pages.push(page.len());
        Ok(page)
    };
    let seen: Vec<_> = all_pages(1000, next).await.iter().map(|scanned| scanned.id).collect();
    assert_eq!(seen, jobs.iter().map(|job| job.id()).collect::<Vec<_>>());
    assert_eq!(pages, [9, 9, 2, 0], "a page ends after 8 MiB");
}

pub(crate) async fn a_scan_sees_every_job_once(stores: TestStores) {
    let jobs = created(&stores.store, (0..23).map(|_| a_job("so1")).collect()).await;
    let next = async |last: Option<&Scanned>| stores.other.scan(last.map(|it| it.id), 5).await;
    let seen: Vec<_> = all_pages(5, next).await.iter().map(|scanned| scanned.id).collect();
    assert_eq!(seen, jobs.iter().map(|job| job.id()).collect::<Vec<_>>());
    assert_eq!(stores.store.orphans(5).await.unwrap(), Vec::<String>::new());
}
