//! Gauges that are read from the store for each scrape. They are the same on every node, so they must not be summed over
//! nodes; their help says so.

use std::collections::BTreeMap;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::id::{LifecycleName, StateName};
use tenure_core::job_type::{CATCH_ALL, Catalog};
use tenure_core::lifecycle::Phase;
use tenure_core::limits;
use tenure_core::webhook::Webhook;
use tenure_stats::phase_of;
use tenure_stats::snapshot::{Attention, AttentionKind, CountNow, QueueNow, Severity};
use tenure_store::{Gauges, ResourceFilter, SequenceFilter};

use super::labels::{BoundedNames, Labels, owned};
use crate::prelude::*;

type Seconds = Gauge<f64, std::sync::atomic::AtomicU64>;
/// The labels of a queue and a type.
type QueueAndType<'a> = (&'a str, &'a str);

/// Halted sequences that are counted.
const HALTS_MAX: usize = 100_000;
/// Ends the help of every gauge of the store.
const SHARED: &str = "the same on every node: aggregate with max";

/// Reads the gauges of the store.
pub(super) async fn registry(app: &App) -> Result<Registry> {
    let (gauges, now) = (app.store().gauges().await?, app.store().now().await?.at);
    let counts = app.stats().counts(&gauges.jobs).await?;
    let webhooks = webhooks(app).await?;
    // Without statistics the other gauges are still there.
    let snapshot = app.stats().snapshot().await.ok();
    let catalog = app.runtime().catalog();
    let mut registry = Registry::with_prefix("tenure");
    let to = &mut registry;
    jobs(to, &counts);
    queues(to, &catalog, &gauges, snapshot.as_ref().map_or(&[], |snapshot| &snapshot.queues), now);
    if let Some(snapshot) = &snapshot {
        attention(to, &snapshot.attention);
    }
    dead_letters(to, &gauges, now);
    flow(to, app).await?;
    let imbalance = i64::try_from(app.runtime().credits_imbalance()).unwrap_or(i64::MAX);
    let help = "Difference between accounts and ledger in credits, which must be zero";
    register(to, "credits_imbalance", help, ConstGauge::new(imbalance));
    intake(to, app, now);
    lag(to, app, &webhooks, now).await?;
    Ok(registry)
}

fn register(to: &mut Registry, name: &str, help: &str, metric: impl prometheus_client::registry::Metric) {
    to.register(name, format!("{help}; {SHARED}"), metric);
}

fn age(now: Timestamp, since: Timestamp) -> f64 {
    (now - since).0 as f64 / 1000.0
}

/// What needs attention, by rule and severity: every rule at zero, so that an alert sees it end.
fn attention(to: &mut Registry, entries: &[Attention]) {
    let all = Family::<Labels<2>, Gauge>::default();
    let of = |rule: &str, severity: Severity| {
        let severity = match severity {
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        };
        all.get_or_create_owned(&owned([("rule", rule), ("severity", severity)]))
    };
    for rule in AttentionKind::names() {
        of(rule, Severity::Warning);
        of(rule, Severity::Critical);
    }
    for entry in entries {
        of(entry.what.name(), entry.severity).inc();
    }
    // Without the words about all nodes: a rule judges the commits of its node.
    to.register("attention", "What needs attention, by rule and severity, as this node judges it", all);
}

fn intake(to: &mut Registry, app: &App, now: Timestamp) {
    let oldest = Family::<Labels<1>, Seconds>::default();
    for age in app.runtime().intake_ages() {
        let labels = owned([("database", age.database().as_str())]);
        oldest.get_or_create(&labels).set(age.age(now).0 as f64 / 1000.0);
    }
    register(to, "intake_oldest_seconds", "Age of the oldest request in SQL that is not taken in", oldest);
}

fn jobs(to: &mut Registry, counts: &[CountNow]) {
    let jobs = Family::<Labels<2>, Gauge>::default();
    for count in counts {
        let labels = owned([("lifecycle", count.lifecycle.as_str()), ("state", count.state.as_str())]);
        jobs.get_or_create(&labels).inc_by(count.count as i64);
    }
    register(to, "jobs", "Jobs by lifecycle and state", jobs);
}

/// Ready jobs by queue and type. Every declared type has its queue from the start, at zero.
fn queues(to: &mut Registry, catalog: &Catalog, gauges: &Gauges, all: &[QueueNow], now: Timestamp) {
    let declared: BTreeMap<&str, &str> =
        catalog.types().map(|it| (it.name.as_str(), it.queue.as_str())).collect();
    let found = gauges.jobs.iter().map(|count| count.queue.as_str());
    let found = found.chain(gauges.oldest_ready.iter().map(|oldest| oldest.queue.as_str()));
    let found = found.chain(all.iter().map(|queue| queue.name.as_str()));
    let names = BoundedNames::new(declared.values().copied(), found);
    paused(to, &names, all);
    let type_label = |name| if declared.contains_key(name) { name } else { CATCH_ALL };
    let mut depths: BTreeMap<QueueAndType<'_>, u64> =
        declared.iter().map(|(job_type, queue)| ((*queue, *job_type), 0)).collect();
    let mut phases: BTreeMap<(&LifecycleName, &StateName), bool> = BTreeMap::new();
    for count in &gauges.jobs {
        let state = (&count.lifecycle, &count.state);
        let is_ready =
            phases.entry(state).or_insert_with(|| phase_of(catalog, state.0, state.1) == Some(Phase::Ready));
        if *is_ready {
            let labels = (names.label(count.queue.as_str()), type_label(count.job_type.as_str()));
            *depths.entry(labels).or_default() += count.count;
        }
    }
    let mut ages: BTreeMap<QueueAndType<'_>, f64> = BTreeMap::new();
    for oldest in &gauges.oldest_ready {
        let labels = (names.label(oldest.queue.as_str()), type_label(oldest.job_type.as_str()));
        let longest = ages.entry(labels).or_default();
        *longest = longest.max(age(now, oldest.since));
    }
    let (depth, oldest) = (Family::<Labels<2>, Gauge>::default(), Family::<Labels<2>, Seconds>::default());
    let labels = |(queue, job_type): QueueAndType<'_>| owned([("queue", queue), ("type", job_type)]);
    for (of, jobs) in depths {
        depth.get_or_create(&labels(of)).set(jobs as i64);
    }
    for (of, age) in ages {
        oldest.get_or_create(&labels(of)).set(age);
    }
    register(
        to,
        "queue_depth",
        "Jobs in a ready state by queue and type, including those with a later run_at",
        depth,
    );
    register(to, "oldest_ready_seconds", "Age of the oldest claimable job by queue and type", oldest);
}

/// 1 for a paused queue. Of the queues that share a label, all must be paused: it silences their alerts.
fn paused<'a>(to: &mut Registry, names: &BoundedNames<'a>, all: &'a [QueueNow]) {
    let mut by_label: BTreeMap<&str, bool> = BTreeMap::new();
    for queue in all {
        let all_paused = by_label.entry(names.label(queue.name.as_str())).or_insert(true);
        *all_paused &= queue.paused;
    }
    let paused = Family::<Labels<1>, Gauge>::default();
    for (queue, is_paused) in by_label {
        paused.get_or_create(&owned([("queue", queue)])).set(is_paused.into());
    }
    register(to, "queue_paused", "1 if an operator paused the queue, otherwise 0", paused);
}

fn dead_letters(to: &mut Registry, gauges: &Gauges, now: Timestamp) {
    let oldest = gauges.oldest_dead_letter.map_or(0.0, |since| age(now, since));
    register(to, "dead_letters", "Open dead letters", ConstGauge::new(gauges.dead_letters));
    let help = "Age of the oldest open dead letter, zero if there is none";
    register(to, "oldest_dead_letter_seconds", help, ConstGauge::new(oldest));
}

/// Resources and halted sequences. Declared names only, so there are no more series than declarations.
async fn flow(to: &mut Registry, app: &App) -> Result<()> {
    let filter =
        ResourceFilter { sums_only: true, limit: limits::RESOURCES_MAX, ..ResourceFilter::default() };
    let resources = app.store().resources(filter).await?;
    let gauge = Family::<Labels<1>, Gauge>::default;
    let (running, limit, buckets) = (gauge(), gauge(), gauge());
    let waits = Family::<Labels<1>, Counter>::default();
    for resource in &resources {
        let labels = owned([("resource", resource.name.as_str())]);
        running.get_or_create(&labels).set(resource.running as i64);
        buckets.get_or_create(&labels).set(resource.bucket_count as i64);
        waits.get_or_create(&labels).inc_by(resource.waits);
        if let Some(max) = resource.limits.running {
            limit.get_or_create(&labels).set(max as i64);
        }
    }
    register(to, "resource_running", "Units of live leases by resource", running);
    register(to, "resource_limit", "The running limit of each bucket, where there is one", limit);
    register(to, "resource_buckets", "Buckets in use by resource", buckets);
    let help = "How often jobs were found that had to wait for the resource, by this node";
    to.register("resource_waits", help, waits);
    let halted = SequenceFilter { id: None, halted: true, after: None, limit: HALTS_MAX };
    let halted = app.store().sequences(halted).await?.len();
    register(to, "sequences_halted", "Halted sequences", ConstGauge::new(halted as i64));
    Ok(())
}

/// The webhooks that are enabled.
async fn webhooks(app: &App) -> Result<Vec<Webhook>> {
    let all = app.store().automations(AutomationKind::Webhook).await?;
    let all = all.into_iter().filter_map(Automation::into_webhook);
    Ok(all.filter(|webhook| webhook.disabled_at.is_none()).collect())
}

/// How far webhooks are behind the journal. A sender stores its position at least every five seconds.
async fn lag(to: &mut Registry, app: &App, webhooks: &[Webhook], now: Timestamp) -> Result<()> {
    let end = app.store().journal_end().await?;
    let names = BoundedNames::new([], webhooks.iter().map(|webhook| webhook.id.as_str()));
    let events = Family::<Labels<1>, Gauge>::default();
    for webhook in webhooks {
        let behind = end.0.saturating_sub(webhook.position.0) as i64;
        events.get_or_create(&owned([("webhook", names.label(webhook.id.as_str()))])).inc_by(behind);
    }
    let slowest = webhooks.iter().map(|webhook| webhook.position).min();
    let next = match slowest {
        Some(position) => app.store().events(position, 1).await?.pop(),
        None => None,
    };
    let seconds = next.map_or(0.0, |entry| age(now, entry.event.ts));
    register(
        to,
        "webhook_lag_events",
        "Events of the journal that an enabled webhook has not passed",
        events,
    );
    let help = "Age of the oldest event that an enabled webhook has not passed, zero if there is none";
    register(to, "webhook_lag_seconds", help, ConstGauge::new(seconds));
    Ok(())
}
