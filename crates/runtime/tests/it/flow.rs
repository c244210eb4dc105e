//! Waiting claims under flow control: what they wait for wakes them when it comes, not at the next regular poll.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::flow::{
    Batch, Declarations, Limits, OnFailure, Rate, Resource, ResourceDemand, Sequence, TypeFlow,
};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::fixture::{a_claim, a_job, claimed, created, pass, report, submitted, succeed, with};
use crate::prelude::*;

const LONG: Duration = Duration::from_mins(1);
/// How long a started job is leased in the lifecycle of these types.
const LEASE: Duration = Duration::from_secs(30);
/// Half an interval after a regular poll.
const BETWEEN_POLLS: Duration = Duration::from_millis(5500);

/// A runtime whose types have this flow control.
async fn under(limits: Limits, types: &[(&str, TypeFlow)]) -> Runtime {
    let resources = [("shared".into(), Resource { key: None, limits })].into();
    let flow = types.iter().map(|(name, flow)| ((*name).into(), flow.clone())).collect();
    let flow = Arc::new(Declarations { resources, types: flow, ..Declarations::default() });
    let types = types.iter().map(|(name, _)| TypeDefinition::new(name, "distributed")).collect();
    with(Definitions { types, flow, ..Definitions::default() }, Options::default()).await.0
}

fn using_shared() -> TypeFlow {
    TypeFlow { uses: vec![ResourceDemand { resource: "shared".into(), units: 1 }], ..TypeFlow::default() }
}

fn grouped(size: u64, wait: u64) -> TypeFlow {
    TypeFlow { batch: Some(Batch { size, wait: Millis(wait), key: None }), ..TypeFlow::default() }
}

fn rate(per: u64) -> Limits {
    Limits { rate: Some(Rate { count: 1, per: Millis(per), burst: 1 }), ..Limits::default() }
}

/// A claim that waits, and when it got its jobs.
fn waiting(runtime: &Runtime, claim: Claim) -> JoinHandle<(Vec<Arc<Job>>, Instant)> {
    waiting_for(runtime, claim, LONG)
}

fn waiting_for(runtime: &Runtime, claim: Claim, wait: Duration) -> JoinHandle<(Vec<Arc<Job>>, Instant)> {
    let runtime = runtime.clone();
    tokio::spawn(async move {
        match runtime.claim(claim, wait).await.unwrap().unwrap() {
            CommandOutput::Claimed { jobs, .. } => (jobs, Instant::now()),
            other => panic!("{other:?} is not the result of a claim"),
        }
    })
}

fn of_type(worker: &str, job_type: &str) -> Claim {
    let filter = ClaimFilter { types: Some(vec![job_type.into()]), queues: None };
    Claim { filter, ..a_claim(worker, 1) }
}

#[tokio::test(start_paused = true)]
async fn a_claim_gets_its_token_at_its_time() {
    let runtime = under(rate(300), &[("work", using_shared())]).await;
    let claims = [waiting(&runtime, a_claim("w1", 1)), waiting(&runtime, a_claim("w2", 1))];
    pass(BETWEEN_POLLS).await;
    let begun = Instant::now();
    for _ in 0..2 {
        created(&runtime, a_job("work")).await;
    }
    let mut waits = Vec::new();
    for claim in claims {
        waits.push(claim.await.unwrap().1 - begun);
    }
    waits.sort_unstable();
    assert!(waits[0] < Duration::from_millis(50), "{waits:?}");
    assert!((Duration::from_millis(300)..Duration::from_millis(320)).contains(&waits[1]), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_gets_an_incomplete_group_when_its_wait_is_over() {
    let runtime = under(Limits::default(), &[("work", grouped(3, 300))]).await;
    let claim = waiting(&runtime, a_claim("w1", 3));
    pass(BETWEEN_POLLS).await;
    let begun = Instant::now();
    created(&runtime, a_job("work")).await;
    let waited = claim.await.unwrap().1 - begun;
    assert!((Duration::from_millis(300)..Duration::from_millis(350)).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_due_group_gets_its_token_at_its_time() {
    let flow = TypeFlow { uses: using_shared().uses, ..grouped(2, 100) };
    let runtime = under(rate(300), &[("work", flow)]).await;
    created(&runtime, a_job("work")).await;
    created(&runtime, a_job("work")).await;
    let begun = Instant::now();
    let first = waiting(&runtime, a_claim("w1", 2)).await.unwrap();
    assert_eq!(first.0.len(), 1, "what fits once its wait is over");
    let (jobs, at) = waiting(&runtime, a_claim("w2", 2)).await.unwrap();
    assert_eq!(jobs.len(), 1);
    let waited = at - begun;
    assert!((Duration::from_millis(400)..Duration::from_millis(450)).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_complete_group_gets_its_tokens_at_their_time() {
    let limits = Limits { rate: Some(Rate { count: 2, per: Millis(300), burst: 2 }), ..Limits::default() };
    let flow = TypeFlow { uses: using_shared().uses, ..grouped(2, 3_600_000) };
    let runtime = under(limits, &[("work", flow)]).await;
    let claims = [waiting(&runtime, a_claim("w1", 2)), waiting(&runtime, a_claim("w2", 2))];
    pass(BETWEEN_POLLS).await;
    let begun = Instant::now();
    for _ in 0..4 {
        created(&runtime, a_job("work")).await;
    }
    let mut waits = Vec::new();
    for claim in claims {
        let (jobs, at) = claim.await.unwrap();
        assert_eq!(jobs.len(), 2);
        waits.push(at - begun);
    }
    waits.sort_unstable();
    assert!(waits[0] < Duration::from_millis(50), "{waits:?}");
    assert!((Duration::from_millis(300)..Duration::from_millis(350)).contains(&waits[1]), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn claims_with_different_filters_get_different_jobs() {
    let runtime = under(rate(1), &[("work", using_shared()), ("other", TypeFlow::default())]).await;
    let claims = [waiting(&runtime, a_claim("w1", 1)), waiting(&runtime, of_type("w2", "work"))];
    pass(BETWEEN_POLLS).await;
    let begun = Instant::now();
    let mut creations = JoinSet::new();
    for _ in 0..2 {
        let runtime = runtime.clone();
        creations.spawn(async move { created(&runtime, a_job("work")).await });
    }
    creations.join_all().await;
    for claim in claims {
        let waited = claim.await.unwrap().1 - begun;
        assert!(waited < Duration::from_millis(50), "{waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn free_permits_wake_a_claim_that_takes_fewer_jobs_than_a_group_has() {
    let limits = Limits { running: Some(2), ..Limits::default() };
    let flow = TypeFlow { uses: using_shared().uses, ..grouped(5, 3_600_000) };
    let runtime = under(limits, &[("work", flow)]).await;
    for _ in 0..4 {
        created(&runtime, a_job("work")).await;
    }
    let running = waiting(&runtime, a_claim("w1", 2)).await.unwrap().0;
    assert_eq!(running.len(), 2, "as many as the claim takes");
    let claim = waiting(&runtime, a_claim("w2", 2));
    pass(BETWEEN_POLLS).await;
    let begun = Instant::now();
    for job in &running {
        report(&runtime, job, succeed()).await.unwrap();
    }
    let (jobs, at) = claim.await.unwrap();
    assert_eq!(jobs.len(), 2);
    assert!(at - begun < Duration::from_millis(100), "{:?}", at - begun);
}

#[tokio::test(start_paused = true)]
async fn a_permit_is_free_when_its_lease_expires() {
    let limits = Limits { running: Some(1), ..Limits::default() };
    let runtime = under(limits, &[("work", using_shared())]).await;
    for _ in 0..2 {
        created(&runtime, a_job("work")).await;
    }
    pass(Duration::from_millis(130)).await;
    assert_eq!(claimed(&runtime, "w1", LONG).await.len(), 1);
    let begun = Instant::now();
    let waited = waiting_for(&runtime, a_claim("w2", 1), 2 * LONG).await.unwrap().1 - begun;
    assert!((LEASE..LEASE + Duration::from_millis(50)).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn an_amendment_that_moves_the_head_of_a_sequence_wakes_a_claim() {
    let sequence = Sequence { key: "payload.key".to_owned(), on_failure: OnFailure::Continue };
    let flow = TypeFlow { sequence: Some(sequence), ..TypeFlow::default() };
    let runtime = under(Limits::default(), &[("work", flow)]).await;
    let keyed = |key: &str| NewJob::new("work", Json::parse(&format!(r#"{{"key":"{key}"}}"#)).unwrap());
    let later = tenure_core::command::When::In(Millis::seconds(3600));
    let head = created(&runtime, NewJob { when: later, ..keyed("a") }).await;
    let second = created(&runtime, keyed("a")).await;
    let claim = waiting(&runtime, a_claim("w1", 1));
    pass(BETWEEN_POLLS).await;
    let begun = Instant::now();
    let payload = Some(Json::parse(r#"{"key":"b"}"#).unwrap());
    let change = tenure_runtime::Amendment { payload, ..tenure_runtime::Amendment::default() };
    runtime.amend("test".into(), &head, change).await.unwrap().unwrap();
    let (jobs, at) = claim.await.unwrap();
    assert_eq!(jobs[0].id(), second.id());
    assert!(at - begun < Duration::from_millis(100), "{:?}", at - begun);
}

#[tokio::test(start_paused = true)]
async fn a_declared_type_does_not_have_the_flow_control_of_the_catch_all() {
    let limits = Limits { running: Some(1), ..Limits::default() };
    let runtime = under(limits, &[("*", using_shared()), ("plain", TypeFlow::default())]).await;
    assert_eq!(created(&runtime, a_job("undeclared")).await.flow().resources.len(), 1);
    assert!(created(&runtime, a_job("plain")).await.flow().is_empty());
    for _ in 0..2 {
        created(&runtime, a_job("plain")).await;
    }
    let claim = Claim { filter: of_type("w1", "plain").filter, ..a_claim("w1", 9) };
    assert_eq!(waiting(&runtime, claim).await.unwrap().0.len(), 3);
    assert_eq!(claimed(&runtime, "w1", LONG).await.len(), 1);
    assert!(claimed(&runtime, "w1", Duration::ZERO).await.is_empty());
    submitted(&runtime, Command::Sweep(created(&runtime, a_job("plain")).await.id())).await;
}
