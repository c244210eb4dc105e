//! Claims: work for a worker, waited for.

use std::time::Duration;

use axum::extract::State;
use serde::Deserialize;
use tenure_core::command::{Claim, ClaimFilter};
use tenure_core::decide::Done;
use tenure_core::id::Name;
use tenure_core::limits::CLAIM_JOBS_MAX;
use tenure_core::time::Millis;

use crate::app::App;
use crate::body::Body;
use crate::caller::{Caller, Right};
use crate::http::{Reply, Shown, name, ok};
use crate::problem::Problem;
use crate::query::Given;

/// How long a claim may wait.
const WAIT_MS_MAX: u64 = 300_000;
/// Types or queues that one claim may name.
const NAMES_MAX: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimBody {
    worker: String,
    types: Option<Vec<String>>,
    queues: Option<Vec<String>>,
    max: Option<u64>,
    wait: Option<Millis>,
    request_id: Option<String>,
    #[serde(default)]
    start: bool,
}

impl ClaimBody {
    fn claim(self, key: Option<Name>) -> Result<(Claim, Duration), Problem> {
        let max = u32::try_from(self.max.unwrap_or(1)).ok().filter(|max| (1..=CLAIM_JOBS_MAX).contains(max));
        let max =
            max.ok_or_else(|| Problem::malformed("#/max", format!("must be from 1 to {CLAIM_JOBS_MAX}")))?;
        let wait = self.wait.unwrap_or_default();
        if wait.0 > WAIT_MS_MAX {
            return Err(Problem::malformed("#/wait", format!("must be at most {}", Millis(WAIT_MS_MAX))));
        }
        let filter =
            ClaimFilter { types: names("#/types", self.types)?, queues: names("#/queues", self.queues)? };
        let claim = Claim {
            worker: name("#/worker", Some(self.worker))?.unwrap_or_else(|| "".into()),
            filter,
            max,
            request_id: name("#/request_id", self.request_id)?.or(key),
            start: self.start,
        };
        Ok((claim, Duration::from_millis(wait.0)))
    }
}

/// Names of a list, sorted, each once.
pub(crate) fn names(pointer: &str, given: Option<Vec<String>>) -> Result<Option<Vec<Name>>, Problem> {
    let Some(given) = given else { return Ok(None) };
    if given.len() > NAMES_MAX {
        return Err(Problem::malformed(pointer, format!("at most {NAMES_MAX} names")));
    }
    let mut names = Vec::with_capacity(given.len());
    for (index, text) in given.into_iter().enumerate() {
        names.extend(name(&format!("{pointer}/{index}"), Some(text))?);
    }
    // The same names in another order ask for the same jobs.
    names.sort_unstable();
    names.dedup();
    Ok(Some(names))
}

pub(crate) async fn claim(
    State(app): State<App>,
    caller: Caller,
    given: Given,
    body: Body<ClaimBody>,
) -> Reply {
    caller.may(Right::Work)?;
    given.done()?;
    let (claim, wait) = body.value.claim(body.key.map(|given| given.key))?;
    app.refuse_if_draining()?;
    app.hear(&caller, &claim.worker).await?;
    let done = app.runtime().claim_unless(claim, wait, app.drained()).await??;
    if matches!(&done, Done::Claimed { jobs, .. } if jobs.is_empty()) {
        // Who waits when the server drains has got nothing, and asks again elsewhere.
        app.refuse_if_draining()?;
    }
    ok(&Shown { done, now: app.runtime().reading() })
}
