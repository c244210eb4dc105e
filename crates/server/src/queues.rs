//! The queues: how deep each is, and whether it is paused.

use std::collections::BTreeMap;

use tenure_core::id::Name;
use tenure_core::lifecycle::Phase;
use tenure_store::Store as _;

use crate::app::App;
use crate::problem::Problem;

/// A queue as it is now.
pub(crate) struct Queue {
    pub(crate) name: Name,
    pub(crate) paused: bool,
    pub(crate) ready: u64,
    pub(crate) running: u64,
    pub(crate) waiting: u64,
}

/// Those that a type names, that are paused, or that have jobs; by name.
pub(crate) async fn all(app: &App) -> Result<Vec<Queue>, Problem> {
    let catalog = app.runtime().catalog();
    let paused = app.store().paused().await?;
    let gauges = app.store().gauges().await?;
    let mut queues: BTreeMap<Name, [u64; 3]> = BTreeMap::new();
    let named = catalog.types().map(|job_type| &job_type.queue).chain(&paused);
    queues.extend(named.map(|name| (name.clone(), [0; 3])));
    for count in gauges.jobs {
        let lifecycle = catalog.newest(count.lifecycle.as_str());
        let phase =
            lifecycle.and_then(|lifecycle| lifecycle.state(count.state.as_str())).map(|state| state.phase);
        let place = match phase {
            Some(Phase::Ready) => 0,
            Some(Phase::Held | Phase::Active | Phase::Final(_)) | None => 1,
            Some(Phase::Waiting) => 2,
        };
        queues.entry(count.queue.clone()).or_default()[place] += count.count;
    }
    let rows = queues.into_iter().map(|(name, [ready, running, waiting])| {
        let paused = paused.contains(&name);
        Queue { name, paused, ready, running, waiting }
    });
    Ok(rows.collect())
}
