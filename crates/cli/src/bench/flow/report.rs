//! The figures of flow control.

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use crate::args::{OutputFormat, StoreKind};
use crate::output;

#[derive(Default, Serialize)]
pub(in crate::bench) struct FlowReport {
    pub(super) hot_key: HotKey,
    pub(super) tokens: Vec<Tokens>,
    pub(super) shares: Shares,
    pub(super) other_tenant: OtherTenant,
    pub(super) debounce: Debounce,
    pub(super) costs: Vec<ResourceCost>,
}

/// By the histories of jobs that all claim one key.
#[derive(Default, Serialize)]
pub(super) struct HotKey {
    pub(super) jobs: usize,
    pub(super) nodes: usize,
    pub(super) claimers_each: usize,
    pub(super) limit: u64,
    pub(super) most_at_once: u64,
    /// The longest time with fewer leases than allowed while jobs waited.
    pub(super) longest_gap_ms: i64,
    pub(super) jobs_per_second: f64,
}

/// How late claims were that waited for a token.
#[derive(Serialize)]
pub(super) struct Tokens {
    pub(super) store: StoreKind,
    pub(super) grants: usize,
    /// Windows in which more tokens were taken than the rate allows.
    pub(super) unlawful: usize,
    pub(super) late_p99_ms: i64,
    pub(super) late_worst_ms: i64,
}

#[derive(Default, Serialize)]
pub(super) struct Shares {
    pub(super) claims: usize,
    pub(super) weights: f64,
    pub(super) ratio: f64,
}

#[derive(Default, Serialize)]
pub(super) struct OtherTenant {
    pub(super) waiting: usize,
    /// Whether its first job was the next one that was claimed.
    pub(super) is_next: bool,
    /// From the end of a running job to its claim.
    pub(super) start_ms: i64,
}

#[derive(Default, Serialize)]
pub(super) struct Debounce {
    pub(super) calls: usize,
    pub(super) jobs: usize,
    pub(super) runs: usize,
    /// Creation and amendments in the history.
    pub(super) events: usize,
    /// Whether the job ran with the payload of the last call in its history.
    pub(super) has_last_payload: bool,
}

/// Lifecycles per second, medians of rounds of each kind in turn.
#[derive(Serialize)]
pub(super) struct ResourceCost {
    pub(super) store: StoreKind,
    /// On a store without declarations.
    pub(super) undeclared: f64,
    /// A type without flow control, on a store with declarations.
    pub(super) plain: f64,
    pub(super) one_key: f64,
    pub(super) many_keys: f64,
}

pub(in crate::bench) fn print(format: OutputFormat, report: &FlowReport) -> Result<()> {
    if matches!(format, OutputFormat::Json | OutputFormat::Jsonl) {
        return Ok(output::json(format, &json!(report))?);
    }
    let mut rows = vec![hot_key(&report.hot_key)];
    rows.extend(report.tokens.iter().map(tokens));
    rows.extend([shares(&report.shares), other_tenant(&report.other_tenant), debounce(&report.debounce)]);
    rows.extend(report.costs.iter().flat_map(cost));
    Ok(output::table(&["MEASUREMENT", "RESULT", "TARGET"], &rows)?)
}

fn row(what: String, result: String, target: &str) -> Vec<String> {
    vec![what, result, target.to_owned()]
}

fn hot_key(it: &HotKey) -> Vec<String> {
    let what = format!("one key, running = {}, {} nodes × {} claimers", it.limit, it.nodes, it.claimers_each);
    let result = format!(
        "{} at once, gap {} ms, {:.0} jobs per second",
        it.most_at_once, it.longest_gap_ms, it.jobs_per_second
    );
    row(what, result, "never more; gap at most 50 ms")
}

fn tokens(it: &Tokens) -> Vec<String> {
    let result = format!(
        "p99 {} ms, maximum {} ms late in {} grants, {} windows over the limit",
        it.late_p99_ms, it.late_worst_ms, it.grants, it.unlawful
    );
    row(format!("tokens, {:?}", it.store), result, "at most 20 ms; none")
}

fn shares(it: &Shares) -> Vec<String> {
    let error = 100.0 * (it.ratio / it.weights - 1.0).abs();
    let result = format!("{:.3} : 1, {error:.2} % off, in {} claims", it.ratio, it.claims);
    row(format!("shares, weights {} : 1", it.weights), result, "at most 5 %")
}

fn other_tenant(it: &OtherTenant) -> Vec<String> {
    let next = if it.is_next { "next" } else { "not next" };
    let result = format!("{next}, {} ms after a running job ended", it.start_ms);
    row(format!("first job of a tenant, with {} waiting jobs of another", it.waiting), result, "next")
}

fn debounce(it: &Debounce) -> Vec<String> {
    let last = if it.has_last_payload { "the last payload" } else { "another payload" };
    let result = format!("{} job, {} run with {last}, {} events before it", it.jobs, it.runs, it.events);
    row(format!("{} debounced creations", it.calls), result, "1 run, the last payload")
}

fn cost(it: &ResourceCost) -> [Vec<String>; 3] {
    let part = |rate: f64, whole: f64| format!("{:.1} %", 100.0 * rate / whole);
    let of = |what: &str| format!("{:?}: {what}", it.store);
    [
        row(of("type without flow control / store without"), part(it.plain, it.undeclared), "100 %"),
        row(of("one resource, 1 key / type without"), part(it.one_key, it.plain), "at least 80 %"),
        row(of("one resource, 10,000 keys / type without"), part(it.many_keys, it.plain), "at least 80 %"),
    ]
}
