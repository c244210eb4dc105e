//! Claims: jobs for a worker, with a wait until there are some.

use tenure_core::command::{Claim, ClaimFilter, Holder, Report, Verb};
use tenure_core::id::{QueueName, TypeName};
use tenure_core::limits::CLAIM_JOBS_MAX;

use tenure_service::worker_registry::{AboutWorker, Claiming};

use crate::http::prelude::*;
use crate::telemetry;

/// The longest wait of a claim.
const WAIT_MAX: Millis = Millis(300_000);
/// Types or queues of one claim.
const NAMES_MAX: usize = 1000;

/// The header in which a worker says how many jobs it runs at once, on which host, and its version.
const ABOUT_WORKER: &str = "tenure-worker";

fn command(body: request::Claim, key: Option<Name>) -> Result<(Claim, Duration)> {
    let max = up_to(CLAIM_JOBS_MAX.into(), "#/max", body.max.unwrap_or(1))? as u32;
    let wait = span("#/wait", body.wait)?.unwrap_or_default();
    require(wait <= WAIT_MAX, "#/wait", format_args!("must be at most {WAIT_MAX}"))?;
    let (types, queues) = (names("#/types", body.types)?, names("#/queues", body.queues)?);
    let claim = Claim {
        worker: name("#/worker", Some(body.worker))?.unwrap_or_else(|| "".into()),
        filter: ClaimFilter { types, queues },
        max,
        request_id: name("#/request_id", body.request_id)?.or(key),
        start: body.start,
    };
    Ok((claim, Duration::from_millis(wait.0)))
}

/// The names of a list, sorted, without duplicates: the order of the names does not matter.
pub(crate) fn names<T: From<String> + Ord>(
    pointer: &str,
    given: Option<Vec<String>>,
) -> Result<Option<Vec<T>>> {
    let Some(given) = given else { return Ok(None) };
    require(given.len() <= NAMES_MAX, pointer, format_args!("at most {NAMES_MAX} names"))?;
    let mut names = Vec::with_capacity(given.len());
    for (index, text) in given.into_iter().enumerate() {
        names.extend(name(&format!("{pointer}/{index}"), Some(text))?);
    }
    names.sort_unstable();
    names.dedup();
    Ok(Some(names))
}

/// Limits a claim to the scopes of its caller, and refuses names outside of them.
pub(crate) fn limit_to_scopes(filter: &mut ClaimFilter, caller: &Caller) -> Result<()> {
    let scopes = &caller.scopes;
    if scopes.user_id.is_some() {
        return Err(Problem::forbidden("a key that is limited to a user does not claim jobs"));
    }
    let other_type = filter.types.iter().flatten().find(|name| !scopes.admits_type(name));
    let other_queue = filter.queues.iter().flatten().find(|name| !scopes.admits_queue(name));
    if let Some(name) = other_type.map(TypeName::as_str).or(other_queue.map(QueueName::as_str)) {
        return Err(Problem::forbidden(format!("the scopes of this key do not include {name}")));
    }
    filter.types = filter.types.take().or_else(|| scopes.types.clone());
    filter.queues = filter.queues.take().or_else(|| scopes.queues.clone());
    Ok(())
}

pub(crate) async fn claim(call: CallContext, headers: HeaderMap, body: Body<request::Claim>) -> Reply {
    let (mut claim, wait) = command(body.value, body.key.map(|given| given.key))?;
    limit_to_scopes(&mut claim.filter, &call.caller)?;
    call.refuse_if_draining()?;
    call.touch_worker(&claim.worker).await?;
    let worker = claim.worker.clone();
    let about = headers.get(ABOUT_WORKER).and_then(|about| about.to_str().ok()).unwrap_or_default();
    let claiming = Claiming {
        types: claim.filter.types.clone(),
        wait: Millis(wait.as_millis() as u64),
        about: AboutWorker::parse(about),
    };
    call.worker_registry().claims(&worker, &call.caller.credential, claiming);
    let output = call.runtime().claim_unless(&call.caller.origin(), claim, wait, call.must_end()).await??;
    // The key may have been revoked during the wait: its jobs are given back instead of delivered.
    if let Err(problem) = call.app.check_admission(&call.caller).await {
        give_back(&call, &worker, &output).await;
        return Err(problem);
    }
    telemetry::link_attempts(&output);
    if matches!(&output, CommandOutput::Claimed { jobs, .. } if jobs.is_empty()) {
        // A claim that the drain interrupted is refused, so that the worker claims from another node.
        call.refuse_if_draining()?;
    }
    ok(&OutputAnswer { output, now: call.runtime().reading() })
}

/// Releases claimed jobs that are not delivered. Where the lifecycle has no rule for it, their leases expire.
async fn give_back(call: &CallContext, worker: &WorkerId, output: &CommandOutput) {
    let CommandOutput::Claimed { jobs, .. } = output else { return };
    let release = |job: &Arc<Job>| {
        let holder = Some(Holder { worker: worker.clone(), fence: job.fence });
        let verb = Verb::Release { checkpoint: None, delay: None, pause: None };
        let command = Command::Report(Box::new(Report { job: job.id(), holder, verb }));
        CommandEnvelope { by: call.caller.origin().as_worker(worker), key: None, command }
    };
    for answer in call.runtime().submit_all(jobs.iter().map(release)).await {
        if !matches!(answer, Ok(Ok(_))) {
            tracing::info!(%worker, "undelivered job left to its lease");
        }
    }
}
