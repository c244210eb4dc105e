//! Requests from the databases of applications: judged once, and recorded if they create no job.

use tenure_core::intake::{IntakeAction, IntakeOutcome, IntakeRequest, JOB_REFUSED};
use tenure_core::lifecycle::Trigger;

use crate::conformance::journal;
use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

/// A request for a job, from another database.
fn request(create: Create) -> IntakeRequest {
    let id = create.id;
    let action = IntakeAction::Create {
        job_type: create.job_type.clone(),
        queue: create.queue.clone(),
        user_id: create.user_id.clone(),
        correlation_id: None,
        create: Ok(Box::new(create)),
    };
    IntakeRequest {
        place: None,
        job: id,
        receipt: id,
        by: "sql:app".into(),
        requested_at: Timestamp(7),
        action,
    }
}

fn cancel_of(job: JobId, receipt: JobId) -> IntakeRequest {
    let command = Command::Cancel(Cancel { job, mode: CancelMode::Soft, reason: None });
    let action = IntakeAction::Act { trigger: Trigger::Cancel, command: Ok(Box::new(command)) };
    IntakeRequest { place: None, job, receipt, by: "sql:app".into(), requested_at: Timestamp(7), action }
}

async fn take_in(store: &Store, requests: Vec<IntakeRequest>) -> (u64, Vec<&'static str>) {
    match one(store, by("intake", Command::TakeIn(requests))).await {
        Ok(CommandOutput::TakenIn { taken, refused, .. }) => (taken, refused),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn a_request_is_judged_once_under_concurrency(stores: TestStores) {
    let good = request(a_job("distributed"));
    let bad = request(Create { user_id: Some("bob".into()), ..a_job("nothing") });
    let requests = vec![good.clone(), bad.clone(), good.clone()];
    let taken = stores
        .in_parallel(6, |_, store| {
            let requests = requests.clone();
            async move { take_in(&store, requests).await }
        })
        .await;
    assert_eq!(taken.iter().map(|(taken, _)| taken).sum::<u64>(), 2);
    assert_eq!(taken.into_iter().flat_map(|(_, refused)| refused).collect::<Vec<_>>(), ["unknown_type"]);
    for node in [&stores.store, &stores.other] {
        assert_eq!(node.job(good.job).await.unwrap().unwrap().id(), good.job);
        let record = node.intake_record(bad.job).await.unwrap().unwrap();
        assert!(matches!(&record.outcome, IntakeOutcome::Refused(_)), "{record:?}");
        assert_eq!(node.refusals(None, None, 9).await.unwrap(), std::slice::from_ref(&record));
        assert_eq!(node.refusals(Some("bob".into()), Some(bad.job), 9).await.unwrap(), []);
        assert_eq!(node.refusals(Some("ann".into()), None, 9).await.unwrap(), []);
        let events = journal(node, 500).await;
        let refused = events.iter().find(|entry| entry.event.name == JOB_REFUSED).unwrap();
        assert_eq!((refused.event.job_id, refused.event.seq), (bad.job, None));
        assert_eq!((refused.job_type.as_str(), refused.user_id.as_deref()), ("nothing", Some("bob")));
    }
    assert_lawful(&stores.store).await;
}

pub(crate) async fn a_request_that_another_job_answers_is_recorded_as_merged(stores: TestStores) {
    let store = &stores.store;
    let keyed = || Create { key: key("k", 1), ..a_job("distributed") };
    let (first, second) = (request(keyed()), request(keyed()));
    take_in(store, vec![first.clone(), second.clone()]).await;
    assert_eq!(take_in(&stores.other, vec![second.clone()]).await, (0, vec![]));
    let record = store.intake_record(second.job).await.unwrap().unwrap();
    assert_eq!(record.outcome, IntakeOutcome::Merged(first.job));
    assert_eq!(store.refusals(None, None, 9).await.unwrap(), []);
    assert_lawful(store).await;
}

pub(crate) async fn a_cancel_of_an_application_acts_once_and_its_refusal_has_an_event(stores: TestStores) {
    let store = &stores.store;
    let job = created_one(store, a_job("distributed")).await.id();
    let (receipt, unknown) = (a_job("distributed").id, a_job("distributed").id);
    assert_eq!(take_in(store, vec![cancel_of(job, receipt)]).await, (1, vec![]));
    assert_eq!(take_in(&stores.other, vec![cancel_of(job, receipt)]).await, (0, vec![]));
    let again = vec![cancel_of(job, a_job("distributed").id), cancel_of(unknown, a_job("distributed").id)];
    assert_eq!(take_in(store, again).await, (2, vec!["invalid_transition", "not_found"]));
    let refused: Vec<_> =
        journal(store, 500).await.into_iter().filter(|it| it.event.name == JOB_REFUSED).collect();
    assert_eq!(refused.iter().map(|it| it.event.job_id).collect::<Vec<_>>(), [job, unknown]);
    assert_lawful(store).await;
}
