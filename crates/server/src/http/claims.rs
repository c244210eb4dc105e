//! Claims: jobs for a worker, with a wait until there are some.

use tenure_core::command::{Claim, ClaimFilter};
use tenure_core::limits::CLAIM_JOBS_MAX;

use crate::http::prelude::*;

/// The longest wait of a claim.
const WAIT_MAX: Millis = Millis(300_000);
/// Types or queues of one claim.
const NAMES_MAX: usize = 1000;

fn command(body: request::Claim, key: Option<Name>) -> Result<(Claim, Duration)> {
    let max = up_to(CLAIM_JOBS_MAX.into(), "#/max", body.max.unwrap_or(1))? as u32;
    let wait = parsed::<Millis>("#/wait", body.wait)?.unwrap_or_default();
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
