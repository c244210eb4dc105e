//! Flow control on runtimes without HTTP: what the histories say about limits, tokens, shares and debounced creations, and what a
//! resource costs.

mod cost;
mod histories;
mod report;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};
use tenure_core::command::{Claim, ClaimFilter, Command, CommandEnvelope, Holder, Report, Verb};
use tenure_core::decide::CommandOutput;
use tenure_core::flow::{
    Among, Declarations, Limits, OnConflict, QueueFlow, Rate, Resource, ResourceDemand, Share, TypeFlow,
    Unique,
};
use tenure_core::id::{Actor, WorkerId};
use tenure_core::job::Job;
use tenure_core::json::Json;
use tenure_core::time::Millis;
use tenure_runtime::{Definitions, NewJob, Options, Runtime, TypeDefinition, UniqueDefinition};
use tenure_store::Store;

use super::database::Database;
use super::stores::fresh;
use crate::args::{BenchArgs, StoreKind};
use crate::output;
pub(super) use report::{FlowReport, print};

/// Units of the hot key.
const RUNNING: u64 = 3;
const NODES: usize = 3;
const CLAIMERS: usize = 64;
/// Tokens per second.
const TOKENS: u64 = 50;
/// Every claim but the first waits for its token.
const BURST: usize = 1;
const WEIGHT: u64 = 5;
/// More than the callers need: the limit costs, but blocks nothing.
const AMPLE: u64 = 1_000_000;
const DELAY: Millis = Millis::seconds(1);
/// Jobs that are created by one call.
const FILL_BATCH: usize = 500;

/// Measures everything with `jobs` jobs, and a hundred times as many that wait.
pub(super) async fn measure(bench: &BenchArgs, jobs: usize, folder: &Path) -> Result<FlowReport> {
    let url = bench.database_url.as_deref().context("--flow needs --database-url")?;
    output::message("measuring one hot key on three nodes");
    let nodes = nodes(url).await?;
    let mut report = FlowReport { hot_key: histories::hot_key(&nodes, jobs).await?, ..FlowReport::default() };
    output::message("measuring debounced creations on three nodes");
    report.debounce = histories::debounce(&nodes, jobs).await?;
    stop(nodes).await;
    for store in [StoreKind::Sqlite, StoreKind::Postgres] {
        output::message(&format!("measuring tokens on {store:?}"));
        let node = start(fresh(store, &folder.join("tokens"), Some(url)).await?).await?;
        report.tokens.push(histories::tokens(&node, store, jobs).await?);
        node.stop().await;
    }
    output::message("measuring shares of two tenants");
    let node = start(Store::open(&folder.join("tenants")).await?).await?;
    report.shares = histories::shares(&node, jobs).await?;
    node.stop().await;
    let node = start(Store::open(&folder.join("waiting")).await?).await?;
    report.other_tenant = histories::other_tenant(&node, jobs * 100).await?;
    node.stop().await;
    for store in [StoreKind::Sqlite, StoreKind::Postgres] {
        report.costs.push(cost::measure(bench, store, rounds(jobs), folder, url).await?);
    }
    Ok(report)
}

/// A try with few jobs needs no median.
fn rounds(jobs: usize) -> usize {
    if jobs < 1000 { 1 } else { 3 }
}

async fn nodes(url: &str) -> Result<Vec<Runtime>> {
    let database = Database::create(url)?;
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        nodes.push(start(Store::connect(database.url()).await?).await?);
    }
    Ok(nodes)
}

async fn start(store: Store) -> Result<Runtime> {
    Ok(Runtime::start(store, definitions(), Options::default()).await?)
}

async fn stop(nodes: Vec<Runtime>) {
    for node in nodes {
        node.stop().await;
    }
}

fn definitions() -> Definitions {
    let named = |name: &str| TypeDefinition::new(name, "distributed");
    let rule =
        Unique { among: Among::Waiting, on_conflict: OnConflict::Postpone { delay: DELAY, max_delay: None } };
    let unique = Some(UniqueDefinition { key: "payload.key".to_owned(), rule });
    let types = vec![
        named("hot"),
        named("paced"),
        named("plain"),
        named("keyed"),
        TypeDefinition { queue: Some("tenants".to_owned()), ..named("tenant") },
        TypeDefinition { unique, ..named("debounced") },
    ];
    Definitions { types, flow: Arc::new(declarations()), ..Definitions::default() }
}

fn declarations() -> Declarations {
    let rate = Rate { count: 1, per: Millis(1000 / TOKENS), burst: BURST as u64 };
    let resources = [
        ("hot", Limits { running: Some(RUNNING), ..Limits::default() }),
        ("paced", Limits { rate: Some(rate), ..Limits::default() }),
        ("keyed", Limits { running: Some(AMPLE), ..Limits::default() }),
    ];
    let resource = |limits| Resource { key: Some("payload.key".to_owned()), limits };
    let uses = |name: &str| TypeFlow {
        uses: vec![ResourceDemand { resource: name.into(), units: 1 }],
        ..TypeFlow::default()
    };
    let share =
        Share { key: "user_id".to_owned(), weights: [("big".into(), WEIGHT)].into(), default_weight: 1 };
    Declarations {
        resources: resources.map(|(name, limits)| (name.into(), resource(limits))).into(),
        types: ["hot", "paced", "keyed"].map(|name| (name.into(), uses(name))).into(),
        queues: [("tenants".into(), QueueFlow { share: Some(share), aging: None })].into(),
    }
}

/// A job with this key.
fn job(job_type: &str, key: usize) -> NewJob {
    with_payload(job_type, &json!({ "key": key, "text": "x".repeat(180) }))
}

fn with_payload(job_type: &str, payload: &Value) -> NewJob {
    NewJob::new(job_type, Json::of(payload))
}

/// Creates jobs, many with one call.
async fn fill(node: &Runtime, count: usize, new: impl Fn(usize) -> NewJob) -> Result<()> {
    let mut created = 0;
    while created < count {
        let next = count.min(created + FILL_BATCH);
        for answer in node.create_all((created..next).map(&new)).await {
            answer?.map_err(|refusal| anyhow!(refusal))?;
        }
        created = next;
    }
    Ok(())
}

/// Claims and starts one job of a type.
async fn claim(
    node: &Runtime,
    worker: &WorkerId,
    job_type: &str,
    wait: Duration,
) -> Result<Option<Arc<Job>>> {
    let filter = ClaimFilter { types: Some([job_type.into()].into()), queues: None };
    let claim = Claim { worker: worker.clone(), filter, max: 1, request_id: None, start: true };
    match node.claim(claim, wait).await?.map_err(|refusal| anyhow!(refusal))? {
        CommandOutput::Claimed { mut jobs, .. } => Ok(jobs.pop()),
        other => bail!("a claim returned {other:?}"),
    }
}

async fn succeed(node: &Runtime, worker: &WorkerId, job: &Job) -> Result<()> {
    let holder = Some(Holder { worker: worker.clone(), fence: job.fence });
    let verb = Verb::Succeed { result: None, error: None };
    let report = Report { job: job.id(), holder, verb };
    let by = Actor::worker(worker).into();
    let envelope = CommandEnvelope { by, key: None, command: Command::Report(Box::new(report)) };
    node.submit(envelope).await?.map_err(|refusal| anyhow!(refusal))?;
    Ok(())
}
