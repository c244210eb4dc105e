//! A runtime in memory on virtual time, and short words for what callers and workers say.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::command::{Asked, Claim, ClaimFilter, Command, Report, Verb};
use tenure_core::decide::{Answer, Done};
use tenure_core::id::{Actor, JobId, Name};
use tenure_core::job::{Category, Class, Job, JobError};
use tenure_core::json::Json;
use tenure_core::time::Timestamp;
use tenure_runtime::{Definitions, NewJob, Options, Runtime};
use tenure_store::{MemoryStore, Store};

pub(crate) const START: Timestamp = Timestamp(1_800_000_000_000);

/// A runtime on virtual time with nothing configured.
pub(crate) async fn runtime() -> (Runtime<MemoryStore>, MemoryStore) {
    with(Definitions::default(), Options::default()).await
}

pub(crate) async fn with(definitions: Definitions, options: Options) -> (Runtime<MemoryStore>, MemoryStore) {
    let store = MemoryStore::with_tokio_clock(START);
    let runtime =
        Runtime::start(store.clone(), definitions, options).await.expect("the definitions are good");
    (runtime, store)
}

/// Lets virtual time pass, with everything that happens in it.
pub(crate) async fn pass(span: Duration) {
    let _ = tokio::time::timeout(span, std::future::pending::<()>()).await;
}

pub(crate) fn a_job(job_type: &str) -> NewJob {
    NewJob::new(job_type, Json::parse("{}").unwrap())
}

pub(crate) async fn created<S: Store>(runtime: &Runtime<S>, new: NewJob) -> Arc<Job> {
    job_of(runtime.create(new).await.unwrap())
}

pub(crate) fn job_of(answer: Answer) -> Arc<Job> {
    match answer.expect("it was not refused") {
        Done::Job { job, .. } => job,
        other => panic!("{other:?} is not about one job"),
    }
}

pub(crate) fn a_claim(worker: &str, max: u32) -> Claim {
    Claim { worker: worker.into(), filter: ClaimFilter::default(), max, request_id: None, start: true }
}

pub(crate) async fn claimed<S: Store>(runtime: &Runtime<S>, worker: &str, wait: Duration) -> Vec<Arc<Job>> {
    match runtime.claim(a_claim(worker, 1), wait).await.unwrap().unwrap() {
        Done::Claimed { jobs, .. } => jobs,
        other => panic!("{other:?} is not a claim's answer"),
    }
}

pub(crate) fn asked(command: Command) -> Asked {
    Asked { by: Actor::from("test"), key: None, command }
}

pub(crate) async fn report<S: Store>(runtime: &Runtime<S>, job: &Job, verb: Verb) -> Answer {
    let lease = job.lease.as_ref().expect("a claimed job is leased");
    let holder: Option<(Name, _)> = Some((lease.worker.clone(), lease.fence));
    let report = Report { job: job.id(), holder, verb };
    runtime.submit(asked(Command::Report(Box::new(report)))).await.unwrap()
}

pub(crate) fn succeed() -> Verb {
    Verb::Succeed { result: Some(Json::parse(r#"{"ok":true}"#).unwrap()), error: None }
}

pub(crate) fn fail(class: Class) -> Verb {
    let error = JobError { class, ..JobError::own("BROKEN", "it broke", Category::Engine) };
    Verb::Fail { error, retry_after: None }
}

pub(crate) async fn state<S: Store>(runtime: &Runtime<S>, id: JobId) -> String {
    runtime.store().job(id).await.unwrap().expect("the job is there").state.to_string()
}
