//! A runtime in memory with virtual time, and builders of commands.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::command::{CommandEnvelope, Holder, Report};
use tenure_core::id::JobId;
use tenure_core::job::{Category, JobError};

use crate::prelude::*;

pub(crate) const START: Timestamp = Timestamp(1_800_000_000_000);

/// A runtime with virtual time and default configuration.
pub(crate) async fn runtime() -> (Runtime, MemoryStore) {
    with(Definitions::default(), Options::default()).await
}

pub(crate) async fn with(definitions: Definitions, options: Options) -> (Runtime, MemoryStore) {
    let store = MemoryStore::with_tokio_clock(START);
    let runtime =
        Runtime::start(store.clone(), definitions, options).await.expect("the definitions are valid");
    (runtime, store)
}

/// Advances virtual time, running everything that is due.
pub(crate) async fn pass(span: Duration) {
    let _ = tokio::time::timeout(span, std::future::pending::<()>()).await;
}

pub(crate) fn a_job(job_type: &str) -> NewJob {
    NewJob::new(job_type, Json::parse("{}").unwrap())
}

pub(crate) async fn created(runtime: &Runtime, new: NewJob) -> Arc<Job> {
    job_of(runtime.create(new).await.unwrap())
}

pub(crate) fn job_of(result: CommandResult) -> Arc<Job> {
    match result.expect("it was not refused") {
        CommandOutput::Job { job, .. } => job,
        other => panic!("{other:?} is not a single job"),
    }
}

pub(crate) fn a_claim(worker: &str, max: u32) -> Claim {
    Claim { worker: worker.into(), filter: ClaimFilter::default(), max, request_id: None, start: true }
}

pub(crate) async fn claimed(runtime: &Runtime, worker: &str, wait: Duration) -> Vec<Arc<Job>> {
    match runtime.claim(a_claim(worker, 1), wait).await.unwrap().unwrap() {
        CommandOutput::Claimed { jobs, .. } => jobs,
        other => panic!("{other:?} is not the result of a claim"),
    }
}

pub(crate) fn envelope(command: Command) -> CommandEnvelope {
    CommandEnvelope { by: "test".into(), key: None, command }
}

/// Submits a command that must be accepted.
pub(crate) async fn submitted(runtime: &Runtime, command: Command) -> CommandOutput {
    runtime.submit(envelope(command)).await.unwrap().unwrap()
}

pub(crate) async fn report(runtime: &Runtime, job: &Job, verb: Verb) -> CommandResult {
    let lease = job.lease.as_ref().expect("a claimed job is leased");
    let holder = Some(Holder { worker: lease.worker.clone(), fence: lease.fence });
    let report = Report { job: job.id(), holder, verb };
    runtime.submit(envelope(Command::Report(Box::new(report)))).await.unwrap()
}

pub(crate) fn succeed() -> Verb {
    Verb::Succeed { result: Some(Json::parse(r#"{"ok":true}"#).unwrap()), error: None }
}

pub(crate) fn fail(class: Class) -> Verb {
    let error = JobError { class, ..JobError::own("BROKEN", "it broke", Category::Engine) };
    Verb::Fail { error, retry_after: None, pause: None }
}

pub(crate) async fn state(runtime: &Runtime, id: JobId) -> String {
    runtime.store().job(id).await.unwrap().expect("the job exists").state.to_string()
}
