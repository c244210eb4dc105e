//! Claims: jobs for a worker, with a wait until there are some.

use tenure_core::command::{Claim, ClaimFilter};
use tenure_core::limits::CLAIM_JOBS_MAX;

use crate::http::prelude::*;

/// The longest wait of a claim.
const WAIT_MS_MAX: u64 = 300_000;
/// Types or queues of one claim.
const NAMES_MAX: usize = 1000;

fn command(body: request::Claim, key: Option<Name>) -> Result<(Claim, Duration), Problem> {
    let max = u32::try_from(body.max.unwrap_or(1)).ok().filter(|max| (1..=CLAIM_JOBS_MAX).contains(max));
    let max =
        max.ok_or_else(|| Problem::malformed("#/max", format!("must be from 1 to {CLAIM_JOBS_MAX}")))?;
    let wait = parsed::<Millis>("#/wait", body.wait)?.unwrap_or_default();
    if wait.0 > WAIT_MS_MAX {
        return Err(Problem::malformed("#/wait", format!("must be at most {}", Millis(WAIT_MS_MAX))));
    }
    let filter =
        ClaimFilter { types: names("#/types", body.types)?, queues: names("#/queues", body.queues)? };
    let claim = Claim {
        worker: name("#/worker", Some(body.worker))?.unwrap_or_else(|| "".into()),
        filter,
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
) -> Result<Option<Vec<T>>, Problem> {
    let Some(given) = given else { return Ok(None) };
    if given.len() > NAMES_MAX {
        return Err(Problem::malformed(pointer, format!("at most {NAMES_MAX} names")));
    }
    let mut names = Vec::with_capacity(given.len());
    for (index, text) in given.into_iter().enumerate() {
        names.extend(name(&format!("{pointer}/{index}"), Some(text))?);
    }
    names.sort_unstable();
    names.dedup();
    Ok(Some(names))
}

pub(crate) async fn claim(call: CallContext, body: Body<request::Claim>) -> Reply {
    let (claim, wait) = command(body.value, body.key.map(|given| given.key))?;
    call.refuse_if_draining()?;
    call.touch_worker(&claim.worker).await?;
    let output = call.runtime().claim_unless(claim, wait, call.drained()).await??;
    if matches!(&output, CommandOutput::Claimed { jobs, .. } if jobs.is_empty()) {
        // A claim that the drain interrupted is refused, so that the worker claims from another node.
        call.refuse_if_draining()?;
    }
    ok(&OutputAnswer { output, now: call.runtime().reading() })
}
