//! What a resource costs: lifecycles of types with and without one, in turn on one store.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use tenure_core::id::WorkerId;
use tenure_runtime::{Definitions, Options, Runtime};

use super::report::ResourceCost;
use super::{claim, fill, job, start, succeed};
use crate::args::{BenchArgs, StoreKind};
use crate::bench::{drive, stores};
use crate::output;

const CALLERS: usize = 64;
const KEYS: usize = 10_000;

pub(super) async fn measure(
    bench: &BenchArgs,
    store: StoreKind,
    rounds: usize,
    folder: &Path,
    url: &str,
) -> Result<ResourceCost> {
    let fresh = async |name: &str| stores::fresh(store, &folder.join(name), Some(url)).await;
    let declared = start(fresh("declared").await?).await?;
    let types = super::definitions().types;
    let definitions = Definitions { types, ..Definitions::default() };
    let undeclared = Runtime::start(fresh("undeclared").await?, definitions, Options::default()).await?;
    let kinds = [
        (&undeclared, "plain", 1),
        (&declared, "plain", 1),
        (&declared, "keyed", 1),
        (&declared, "keyed", KEYS),
    ];
    let mut rates: [Vec<f64>; 4] = Default::default();
    for round in 1..=rounds {
        for (rates, (node, job_type, keys)) in rates.iter_mut().zip(kinds) {
            output::message(&format!("measuring {store:?}, round {round}: {job_type} with {keys} keys"));
            rates.push(lifecycles(node, job_type, keys, Duration::from_secs(bench.seconds)).await?);
        }
    }
    declared.stop().await;
    undeclared.stop().await;
    let [undeclared, plain, one_key, many_keys] = rates.map(median);
    Ok(ResourceCost { store, undeclared, plain, one_key, many_keys })
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}

/// Lifecycles per second of callers that create, claim and finish one job after the other.
async fn lifecycles(node: &Runtime, job_type: &'static str, keys: usize, span: Duration) -> Result<f64> {
    let count = Arc::new(AtomicUsize::new(0));
    let callers = (0..CALLERS).map(|n| (node.clone(), WorkerId::from(format!("w{n}")))).collect();
    let operation = move |(node, worker): (Runtime, WorkerId)| {
        let key = count.fetch_add(1, Ordering::Relaxed) % keys;
        async move {
            fill(&node, 1, |_| job(job_type, key)).await?;
            let Some(job) = claim(&node, &worker, job_type, Duration::from_secs(5)).await? else {
                return Ok(0);
            };
            succeed(&node, &worker, &job).await?;
            Ok(1)
        }
    };
    Ok(drive(callers, span, operation).await?.per_second())
}
