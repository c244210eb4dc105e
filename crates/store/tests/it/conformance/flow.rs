//! Unique keys and amendments: one effect on any number of nodes.

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

fn amend(job: &Job, change: impl FnOnce(&mut Amend)) -> CommandEnvelope {
    let mut amend = Amend {
        job: job.id(),
        job_type: job.spec.job_type.clone(),
        payload: None,
        priority: None,
        run_at: None,
        flow: None,
        if_seq: None,
    };
    change(&mut amend);
    by("operator:ann", Command::Amend(Box::new(amend)))
}

pub(crate) async fn an_amendment_is_read_by_every_node(stores: TestStores) {
    let flow = FlowKeys { unique: Some("Grüße".into()), ..FlowKeys::default() };
    let job = created_one(&stores.store, Create { payload: Json::of(&1), flow, ..a_job("single") }).await;
    // The other node has read the job before.
    assert_eq!(stores.other.job(job.id()).await.unwrap().unwrap().payload(), &Json::of(&1));
    let moved = FlowKeys { unique: Some("moved".into()), ..FlowKeys::default() };
    let change = |amend: &mut Amend| {
        (amend.payload, amend.flow) = (Some(Json::of(&"new")), Some(moved.clone()));
        amend.priority = Some(9);
    };
    let changed = job_of(one(&stores.store, amend(&job, change)).await);
    for store in [&stores.store, &stores.other] {
        let read = store.job(job.id()).await.unwrap().unwrap();
        assert_eq!(read, changed);
        assert_eq!((read.payload(), read.priority(), read.flow()), (&Json::of(&"new"), 9, &moved));
        assert_eq!(read.spec, job.spec, "the request stays");
    }
    let taken = take(&stores.other, "w", any(), 1).await;
    assert_eq!((taken[0].payload(), taken[0].seq), (&Json::of(&"new"), 3));
    one(&stores.store, succeed(&hold(&taken[0]))).await.unwrap();
    let listed = all_jobs(&stores.other).await;
    assert_eq!(listed[0].payload(), &Json::of(&"new"));
    assert_lawful(&stores.store).await;
}

pub(crate) async fn amended_jobs_are_claimed_by_their_new_priority_and_time(stores: TestStores) {
    let jobs = created(&stores.store, vec![a_job("so1"), a_job("so1"), a_job("so1")]).await;
    let far = Timestamp(jobs[0].run_at.0 + 86_400_000);
    one(&stores.store, amend(&jobs[2], |amend| amend.priority = Some(5))).await.unwrap();
    one(&stores.other, amend(&jobs[0], |amend| amend.run_at = Some(far))).await.unwrap();
    let ids = |taken: Vec<std::sync::Arc<Job>>| taken.iter().map(|job| job.id()).collect::<Vec<_>>();
    let taken = until("both are claimed", || async {
        let taken = take(&stores.other, "w", any(), 9).await;
        Some(ids(taken)).filter(|taken| !taken.is_empty())
    });
    assert_eq!(taken.await, [jobs[2].id(), jobs[1].id()]);
    let now = stores.store.now().await.unwrap().at;
    one(&stores.store, amend(&jobs[0], |amend| amend.run_at = Some(now))).await.unwrap();
    let taken = until("it is claimed", || async {
        Some(ids(take(&stores.other, "w", any(), 9).await)).filter(|taken| !taken.is_empty())
    });
    assert_eq!(taken.await, [jobs[0].id()]);
    assert_lawful(&stores.store).await;
}

pub(crate) async fn concurrent_creations_with_a_unique_key_create_one_job(stores: TestStores) {
    let callers = stores.in_parallel(16, |_, store| async move {
        let mut made = 0;
        for round in 0..5 {
            let creation = create(keyed("single", &format!("k{round}")));
            match submit_until_done(&store, &[creation]).await.remove(0) {
                Ok(CommandOutput::Job { .. }) => made += 1,
                Err(Refusal::Duplicate { job: Some(_) }) => {}
                other => panic!("{other:?}"),
            }
        }
        made
    });
    assert_eq!(callers.await.into_iter().sum::<i32>(), 5);
    assert_eq!(all_jobs(&stores.store).await.len(), 5);
    assert_lawful(&stores.store).await;
}

pub(crate) async fn concurrent_replacements_are_all_in_the_history(stores: TestStores) {
    let callers = stores.in_parallel(8, |caller, store| async move {
        for round in 0..5 {
            let payload = Json::of(&(caller * 100 + round));
            let creation = create(Create { payload, ..keyed("latest", "k") });
            let result = submit_until_done(&store, &[creation]).await.remove(0);
            assert!(
                matches!(result, Ok(CommandOutput::Job { .. } | CommandOutput::Amended(_))),
                "{result:?}"
            );
        }
    });
    callers.await;
    let jobs = all_jobs(&stores.store).await;
    assert_eq!(jobs.len(), 1);
    let events = stores.other.history(jobs[0].id(), 0, 100).await.unwrap();
    assert_eq!((events.len(), jobs[0].seq), (40, 40), "each has its event");
    assert_eq!(events[39].facts.payload.as_ref(), Some(jobs[0].payload()), "the last wins");
    assert_lawful(&stores.store).await;
}

pub(crate) async fn a_unique_key_is_free_after_its_job_is_purged(stores: TestStores) {
    let job = created_one(&stores.store, keyed("single", "k")).await;
    let refused = one(&stores.other, create(keyed("single", "k"))).await;
    assert_eq!(refused, Err(Refusal::Duplicate { job: Some(job.id()) }));
    let cancel = Cancel { job: job.id(), mode: CancelMode::Hard, reason: None };
    one(&stores.store, by("operator:ann", Command::Cancel(cancel))).await.unwrap();
    let retry = Retry { job: job.id(), id: an_id(), when: When::Now };
    let copy = job_of(one(&stores.other, by("operator:ann", Command::Retry(retry))).await);
    let refused = one(&stores.store, create(keyed("single", "k"))).await;
    assert_eq!(refused, Err(Refusal::Duplicate { job: Some(copy.id()) }), "the copy has the key");
    let cancel = Cancel { job: copy.id(), mode: CancelMode::Hard, reason: None };
    one(&stores.store, by("operator:ann", Command::Cancel(cancel))).await.unwrap();
    for id in [copy.id(), job.id()] {
        one(&stores.other, by("operator:ann", Command::Delete { job: id, reason: None })).await.unwrap();
    }
    one(&stores.store, by("clock", Command::Prune)).await.unwrap();
    created_one(&stores.store, keyed("single", "k")).await;
    assert_lawful(&stores.store).await;
}
