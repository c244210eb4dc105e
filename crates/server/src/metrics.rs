//! Metrics under the names in docs/protocol.md. Counters count this node's commits, so their sum over all nodes is the
//! total; gauges are read from the store for each scrape and are the same on every node.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, RwLock};
use std::time::Instant;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};
use tenure_core::id::{LifecycleName, StateName, TypeName};
use tenure_core::job::{Category, Class};
use tenure_core::job_type::{CATCH_ALL, Catalog};
use tenure_core::lifecycle::Trigger;
use tenure_runtime::{Committed, Transition};

use crate::prelude::*;

/// Names and values.
type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];
type Durations = Family<Labels<1>, Histogram, fn() -> Histogram>;
/// A lifecycle, and the states before and after.
type TransitionKey = (LifecycleName, Option<StateName>, StateName);
type Seconds = Gauge<f64, std::sync::atomic::AtomicU64>;

/// The counters of one type, looked up once.
struct TypeCounters {
    label: String,
    claims: Counter,
    expiries: Counter,
    retries: Counter,
    waits: Histogram,
    runs: Histogram,
}

pub(crate) struct Metrics {
    registry: Registry,
    /// Declared types have labels; all others share the catch-all's, so that callers cannot create labels.
    types: BTreeMap<TypeName, TypeCounters>,
    claims: Family<Labels<1>, Counter>,
    conflicts: Counter,
    renewals: Counter,
    expiries: Family<Labels<1>, Counter>,
    retries: Family<Labels<1>, Counter>,
    failures: Family<Labels<3>, Counter>,
    transitions: Family<Labels<3>, Counter>,
    /// A cache of `transitions` that needs no labels for lookups.
    transition_cache: RwLock<HashMap<TransitionKey, Counter>>,
    waits: Durations,
    runs: Durations,
    jobs: Family<Labels<2>, Gauge>,
    dead_letters: Gauge,
    oldest_ready: Family<Labels<2>, Seconds>,
    oldest_dead_letter: Seconds,
    credits_imbalance: Gauge,
    engines: Gauge,
    last_commit: Mutex<Instant>,
}

impl Metrics {
    /// Every counter exists from the start, at zero.
    pub(crate) fn new(catalog: &Catalog) -> Self {
        let mut registry = Registry::with_prefix("tenure");
        let to = &mut registry;
        let mut metrics = Self {
            claims: register(to, "claims", "Jobs claimed"),
            conflicts: register(to, "claim_conflicts", "Lease conflicts answered"),
            renewals: register(to, "lease_renewals", "Leases renewed"),
            expiries: register(to, "lease_expiries", "Leases lost"),
            retries: register(to, "retries", "Failed attempts that are retried"),
            failures: register(to, "failures", "Failed attempts"),
            transitions: register(to, "transitions", "Transitions"),
            waits: register_durations(to, "wait_seconds", "From ready to claimed"),
            runs: register_durations(to, "run_seconds", "From started to completed"),
            jobs: register(to, "jobs", "Jobs by lifecycle and state"),
            dead_letters: register(to, "dead_letters", "Open dead letters"),
            oldest_ready: register(to, "oldest_ready_seconds", "Age of the oldest ready job"),
            engines: register(to, "engines", "Engines connected to this node"),
            oldest_dead_letter: register(
                to,
                "oldest_dead_letter_seconds",
                "Age of the oldest open dead letter",
            ),
            credits_imbalance: register(
                to,
                "credits_imbalance",
                "Difference between accounts and ledger in credits; must be zero",
            ),
            registry,
            types: BTreeMap::new(),
            transition_cache: RwLock::default(),
            last_commit: Mutex::new(Instant::now()),
        };
        let names = catalog.types().map(|it| it.name.clone()).chain([CATCH_ALL.into()]);
        metrics.types = names.map(|name| (name.clone(), metrics.counters_of(&name))).collect();
        metrics.create_at_zero(catalog);
        metrics
    }

    fn counters_of(&self, name: &TypeName) -> TypeCounters {
        let label = name.to_string();
        let of = [("type", label.clone().into())];
        TypeCounters {
            claims: self.claims.get_or_create_owned(&of),
            expiries: self.expiries.get_or_create_owned(&of),
            retries: self.retries.get_or_create_owned(&of),
            waits: self.waits.get_or_create_owned(&of),
            runs: self.runs.get_or_create_owned(&of),
            label,
        }
    }

    fn create_at_zero(&self, catalog: &Catalog) {
        for name in self.types.keys() {
            for category in [Category::Validation, Category::Queue, Category::Engine, Category::System] {
                for class in [Class::Transient, Class::Permanent, Class::Validation, Class::LeaseConflict] {
                    self.failures.get_or_create(&failure_labels(category, class, name.as_str())).inc_by(0);
                }
            }
        }
        for lifecycle in catalog.lifecycles() {
            for rule in &lifecycle.rules {
                self.transition(&lifecycle.name, rule.from.as_ref(), &rule.to).inc_by(0);
            }
        }
    }

    fn transition(&self, lifecycle: &LifecycleName, from: Option<&StateName>, to: &StateName) -> Counter {
        let key = (lifecycle.clone(), from.cloned(), to.clone());
        if let Some(known) = self.transition_cache.read().expect("the lock is never poisoned").get(&key) {
            return known.clone();
        }
        let from = from.map(ToString::to_string).unwrap_or_default();
        let labels = [("lifecycle", lifecycle.to_string()), ("from", from), ("to", to.to_string())];
        let counter = self.transitions.get_or_create_owned(&labels.map(owned));
        self.transition_cache.write().expect("the lock is never poisoned").insert(key, counter.clone());
        counter
    }

    pub(crate) fn count(&self, committed: &Committed) {
        *self.last_commit.lock().expect("the lock is never poisoned") = Instant::now();
        self.conflicts.inc_by(committed.conflicts);
        self.renewals.inc_by(committed.renewals);
        for transition in &committed.transitions {
            self.count_transition(transition);
        }
    }

    fn count_transition(&self, it: &Transition) {
        let of = self.types.get(&it.job_type).unwrap_or_else(|| &self.types[CATCH_ALL]);
        self.transition(&it.lifecycle, it.from.as_ref(), &it.to).inc();
        match it.trigger {
            Trigger::Claim => drop(of.claims.inc()),
            Trigger::LeaseExpired => drop(of.expiries.inc()),
            _ => {}
        }
        if it.is_retry {
            of.retries.inc();
        }
        if let Some(failed) = it.failure() {
            self.failures.get_or_create(&failure_labels(failed.category, failed.class, &of.label)).inc();
        }
        if let Some(waited) = it.waited {
            of.waits.observe(waited.0 as f64 / 1000.0);
        }
        if let Some(ran) = it.ran {
            of.runs.observe(ran.0 as f64 / 1000.0);
        }
    }

    /// How long commands have been waiting without a commit; zero if none is waiting.
    pub(crate) fn stuck_for(&self, waiting_commands: usize) -> Duration {
        let mut last = self.last_commit.lock().expect("the lock is never poisoned");
        if waiting_commands == 0 {
            *last = Instant::now();
        }
        last.elapsed()
    }

    /// All metrics as `OpenMetrics` text; only the counters if the store is unavailable.
    pub(crate) async fn text(&self, app: &App) -> String {
        self.engines.set(app.hub.engine_count() as i64);
        if let Err(error) = self.read_gauges(app).await {
            tracing::warn!(?error, "gauges not read");
        }
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string succeeds");
        text
    }

    async fn read_gauges(&self, app: &App) -> Result<()> {
        let (gauges, now) = (app.store().gauges().await?, app.store().now().await?);
        let counts = app.stats().counts(&gauges.jobs).await?;
        let age = |since: Timestamp| (now.at - since).0 as f64 / 1000.0;
        self.jobs.clear();
        for count in counts {
            let of = [("lifecycle", count.lifecycle.to_string()), ("state", count.state.to_string())];
            self.jobs.get_or_create(&of.map(owned)).inc_by(count.count as i64);
        }
        self.credits_imbalance.set(i64::try_from(app.runtime().credits_imbalance()).unwrap_or(i64::MAX));
        self.dead_letters.set(gauges.dead_letters as i64);
        self.oldest_dead_letter.set(gauges.oldest_dead_letter.map_or(0.0, age));
        self.oldest_ready.clear();
        for oldest in gauges.oldest_ready {
            let of = [("queue", oldest.queue.to_string()), ("type", oldest.job_type.to_string())];
            self.oldest_ready.get_or_create(&of.map(owned)).set(age(oldest.since));
        }
        Ok(())
    }
}

fn register<M: Metric + Clone + Default>(to: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    to.register(name, help, metric.clone());
    metric
}

fn register_durations(to: &mut Registry, name: &str, help: &str) -> Durations {
    let durations = Durations::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 2.0, 22)));
    to.register(name, help, durations.clone());
    durations
}

fn owned((name, value): (&'static str, String)) -> (&'static str, Cow<'static, str>) {
    (name, value.into())
}

fn failure_labels(category: Category, class: Class, job_type: &str) -> Labels<3> {
    let (category, class) = (category.as_str(), class.as_str());
    [("category", category.into()), ("class", class.into()), ("type", job_type.to_owned().into())]
}
