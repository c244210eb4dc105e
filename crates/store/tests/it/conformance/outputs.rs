//! Outputs other than transitions: dead letters, logs, telemetry, the audit log, lifecycle files.

use tenure_core::event::Signal;
use tenure_core::job::LifecycleRef;

use crate::conformance::page;
use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

pub(crate) async fn dead_letters_are_listed_and_dismissed(stores: TestStores) {
    let store = &stores.store;
    let jobs = created(store, (0..5).map(|_| a_job("distributed")).collect()).await;
    let held = take(store, "w1", any(), 5).await;
    let reasons = [ReasonCode::Timeout, ReasonCode::PolicyViolation];
    let ends = jobs.iter().enumerate().map(|(n, job)| dead_letter(job.id(), reasons[n % 2]));
    submit(store, ends.collect()).await;
    let list = async |reason_code, dismissed, page| {
        let filter = DeadLetterFilter { reason_code, dismissed, ..DeadLetterFilter::default() };
        let letters = stores.other.dead_letters(filter, page).await.unwrap();
        letters.into_iter().map(|letter| letter.job_id).collect::<Vec<_>>()
    };
    let ids = |places: &[usize]| places.iter().map(|n| jobs[*n].id()).collect::<Vec<_>>();
    assert_eq!(list(None, false, page(10)).await, ids(&[4, 3, 2, 1, 0]));
    assert_eq!(list(Some(ReasonCode::Timeout), false, page(2)).await, ids(&[4, 2]));
    assert_eq!(list(None, false, Page { before: Some(jobs[3].id()), limit: 2 }).await, ids(&[2, 1]));
    one(store, dismiss(jobs[2].id())).await.unwrap();
    assert_eq!(list(None, false, page(10)).await, ids(&[4, 3, 1, 0]));
    assert_eq!(list(None, true, page(10)).await, ids(&[2]));
    let filter = DeadLetterFilter { dismissed: true, ..DeadLetterFilter::default() };
    let letter = store.dead_letters(filter, page(1)).await.unwrap().remove(0);
    assert_eq!(letter.job_type.as_ref(), Some(&jobs[2].spec.job_type));
    assert_eq!((letter.last_owner, letter.attempts), (held[2].worker().cloned(), 1));
    assert_eq!(letter.dismissed.unwrap().reason, "seen");
    let none =
        DeadLetterFilter { stage: Some(tenure_core::job::Stage::Fetch), ..DeadLetterFilter::default() };
    assert_eq!(store.dead_letters(none, page(5)).await.unwrap(), []);
    assert_lawful(store).await;
}

pub(crate) async fn log_lines_are_numbered_without_a_gap(stores: TestStores) {
    let store = &stores.store;
    let job = created_one(store, a_job("so1")).await;
    let append = |texts: &[&str]| append_log(job.id(), None, texts);
    submit(store, vec![append(&["one", "two"]), append(&["three"])]).await;
    submit(&stores.other, vec![append(&["fo\0ur"])]).await;
    let lines = store.logs(job.id(), 0, 10).await.unwrap();
    assert_eq!(lines.iter().map(|line| line.n).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(lines[3].text, "fo\u{fffd}ur");
    assert_eq!(stores.other.logs(job.id(), 1, 2).await.unwrap(), lines[1..3]);
    assert_eq!(store.logs(job.id(), 4, 2).await.unwrap(), []);
    assert_eq!(store.job(job.id()).await.unwrap().unwrap().output.log_count, 4);
    assert_lawful(store).await;
}

pub(crate) async fn telemetry_is_kept_in_order(stores: TestStores) {
    let store = &stores.store;
    created(store, vec![a_job("so1"), a_job("so1")]).await;
    let held: Vec<_> = take(store, "w1", any(), 2).await.iter().map(|job| hold(job)).collect();
    let half = Command::Progress { hold: held[0].clone(), percent: 50.0, message: Some("half".to_owned()) };
    submit(store, vec![heartbeat(&held[0]), heartbeat(&held[1]), by("worker", half)]).await;
    let lines = stores.other.telemetry(held[0].job, 0, 99).await.unwrap();
    let progress = Signal::JobProgress { progress: 50.0, message: Some("half".to_owned()) };
    assert_eq!(lines.first().map(|line| &line.signal), Some(&Signal::JobHeartbeat));
    assert_eq!(lines.last().map(|line| &line.signal), Some(&progress));
    let (job, fence) = (held[0].job, held[0].fence);
    assert!(lines.iter().all(|line| line.job_id == job && line.worker == "w1" && line.fence == fence));
    assert_eq!(store.telemetry(held[1].job, 0, 99).await.unwrap().len(), 1);
    assert_eq!(store.telemetry(held[0].job, 1, 99).await.unwrap(), lines[1..]);
    assert_eq!(store.telemetry(held[0].job, 0, 1).await.unwrap(), lines[..1]);
    assert_eq!(store.last_telemetry(held[0].job, 1).await.unwrap(), lines[lines.len() - 1..]);
    let read = store.job(held[0].job).await.unwrap().unwrap();
    assert!((read.output.progress.as_ref().unwrap().percent - 50.0).abs() < f64::EPSILON);
}

pub(crate) async fn the_audit_log_is_read_in_pages(stores: TestStores) {
    let store = &stores.store;
    let pause = |paused| pause_queue("q", paused);
    submit(store, vec![pause(true), pause(true), pause(false)]).await;
    submit(&stores.other, vec![grant("bob", 1)]).await;
    let job = created_one(store, a_job("image")).await;
    let held = take(store, "w1", any(), 1).await;
    let reject = tenure_core::command::Verb::Reject { reason: "unsafe".to_owned() };
    one(store, report(&hold(&held[0]), reject)).await.unwrap();
    let trail = stores.other.audit(0, 10).await.unwrap();
    let actions: Vec<_> = trail.iter().map(|(_, line)| line.action.as_str()).collect();
    assert_eq!(actions, ["pause", "resume", "grant", "SAFE_BLOCK"]);
    assert_eq!(trail[3].1.job_id, Some(job.id()));
    let details = |row: usize| trail[row].1.details.as_ref().unwrap().to_value().unwrap();
    assert_eq!(details(0)["before"]["paused"], false);
    assert_eq!(details(0)["after"]["paused"], true);
    assert_eq!(details(3)["after"]["state"], "rejected");
    assert_eq!(store.audit(trail[1].0, 1).await.unwrap(), trail[2..3]);
    let newest_first: Vec<_> = trail.iter().rev().cloned().collect();
    assert_eq!(store.audit_before(u64::MAX, 10).await.unwrap(), newest_first);
    assert_eq!(store.audit_before(trail[2].0, 1).await.unwrap(), trail[1..2]);
    let job = created_one(store, a_job("distributed")).await;
    one(store, dead_letter(job.id(), ReasonCode::Timeout)).await.unwrap();
    one(store, pause_queue("q", true)).await.unwrap();
    let trail = stores.other.audit(0, 10).await.unwrap();
    assert_eq!(trail.iter().filter(|(_, line)| line.job_id.is_some()).count(), 2);
    let others: Vec<_> = trail.iter().rev().filter(|(_, line)| line.job_id.is_none()).cloned().collect();
    assert_eq!(stores.other.audit_without_job(u64::MAX, 10).await.unwrap(), others);
    assert_eq!(stores.other.audit_without_job(others[0].0, 2).await.unwrap(), others[1..3]);
}

pub(crate) async fn a_lifecycle_version_is_registered_once(stores: TestStores) {
    let reference = |version| LifecycleRef { name: "own".into(), version };
    let register = |version, text: &str| {
        let (lifecycle, source) = (reference(version), text.to_owned());
        by("operator:ann", Command::RegisterLifecycle { lifecycle, source, is_update: version == 2 })
    };
    one(&stores.store, register(1, "first")).await.unwrap();
    one(&stores.other, register(1, "first")).await.unwrap();
    let changed = one(&stores.other, register(1, "other")).await;
    assert_eq!(changed, Err(Refusal::LifecycleChanged(reference(1))));
    one(&stores.store, register(10, "tenth")).await.unwrap();
    one(&stores.store, register(2, "second")).await.unwrap();
    let expected = [(1, "first"), (2, "second"), (10, "tenth")];
    let expected = expected.map(|(version, source)| (reference(version), source.to_owned()));
    assert_eq!(stores.other.lifecycles().await.unwrap(), expected);
    let audit = stores.other.audit(0, 10).await.unwrap();
    let lines: Vec<_> = audit.iter().map(|(_, it)| (it.action.as_str(), it.reason.as_deref())).collect();
    assert_eq!(lines, [("lifecycle_register", Some("own v2"))], "an update is written to the audit log");
    // Two nodes that start together with the same new file.
    let (ours, theirs) =
        tokio::join!(one(&stores.store, register(11, "x")), one(&stores.other, register(11, "x")));
    assert!(ours.is_ok() && theirs.is_ok());
    // Two nodes that start together with different files of the same version: the second is refused.
    for version in 20..60 {
        let (ours, theirs) = tokio::join!(
            one(&stores.store, register(version, "x")),
            one(&stores.other, register(version, "y"))
        );
        let refused = [&ours, &theirs].map(|it| *it == Err(Refusal::LifecycleChanged(reference(version))));
        assert_eq!(refused.iter().filter(|it| **it).count(), 1, "{ours:?} {theirs:?}");
        let stored = stores.store.lifecycles().await.unwrap();
        let stored = &stored.iter().find(|(known, _)| *known == reference(version)).unwrap().1;
        assert_eq!(stored, if refused[0] { "y" } else { "x" }, "the first stays");
    }
}
