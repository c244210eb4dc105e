//! Metrics under the names in docs/metrics.md. Counters and histograms count what this node did, so their sum over all nodes is
//! the total; gauges of the store are read for each scrape and are the same on every node.

mod classic;
mod format;
mod gauges;
mod http;
mod labels;
mod process;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, RwLock};
use std::time::Instant;

use bytes::Bytes;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};
use tenure_core::id::{LifecycleName, StateName, TypeName};
use tenure_core::job::{Category, Class};
use tenure_core::job_type::{CATCH_ALL, Catalog};
use tenure_core::lifecycle::Trigger;
use tenure_runtime::{Committed, Transition};

pub(crate) use format::Format;
pub(crate) use http::{HttpMetrics, RouteTemplate};
use labels::{Labels, owned};

use crate::answer_cache::AnswerCache;
use crate::prelude::*;

/// Scrapers without credentials must not read the store as often as they like.
const TEXT_AGE_MAX: Duration = Duration::from_secs(1);

type Durations = Family<Labels<1>, Histogram, fn() -> Histogram>;
/// A lifecycle, and the states before and after.
type TransitionKey = (LifecycleName, Option<StateName>, StateName);

/// The counters of one type, looked up once.
struct TypeCounters {
    label: String,
    claims: Counter,
    amendments: Counter,
    expiries: Counter,
    retries: Counter,
    waits: Histogram,
    runs: Histogram,
}

/// The codes with which requests in SQL are refused most often.
const INTAKE_CODES: [&str; 9] = [
    "duplicate",
    "guard_rejected",
    "idempotency_mismatch",
    "insufficient_credits",
    "invalid_transition",
    "not_found",
    "too_large",
    "unknown_type",
    "validation_failed",
];

/// Deliveries of webhooks by this node.
struct Deliveries {
    succeeded: Counter,
    failed: Counter,
}

pub(crate) struct Metrics {
    registry: Registry,
    /// Declared types have labels; all others share the catch-all's, so that callers cannot create labels.
    types: RwLock<BTreeMap<TypeName, TypeCounters>>,
    claims: Family<Labels<1>, Counter>,
    amendments: Family<Labels<1>, Counter>,
    intake_refused: Family<Labels<1>, Counter>,
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
    engines: Gauge,
    deliveries: Deliveries,
    pub(crate) http: HttpMetrics,
    last_commit: Mutex<Instant>,
    /// The text of each format.
    texts: [AnswerCache<Bytes>; 2],
}

impl Metrics {
    /// Every counter exists from the start, at zero, except those of HTTP requests.
    pub(crate) fn new(catalog: &Catalog, store: &'static str) -> Self {
        let mut registry = Registry::with_prefix("tenure");
        let to = &mut registry;
        let build = [("version", env!("CARGO_PKG_VERSION")), ("store", store)];
        to.register("build", "Version of this node and kind of its store", Info::new(owned(build)));
        let metrics = Self {
            claims: register(to, "claims", "Jobs claimed by commits of this node"),
            amendments: register(to, "amendments", "Jobs amended by commits of this node"),
            intake_refused: register(to, "intake_refused", "Requests in SQL refused by commits of this node"),
            conflicts: register(to, "claim_conflicts", "Lease conflicts answered by this node"),
            renewals: register(to, "lease_renewals", "Leases renewed by commits of this node"),
            expiries: register(to, "lease_expiries", "Leases lost, by commits of this node"),
            retries: register(to, "retries", "Failed attempts that are retried, by commits of this node"),
            failures: register(to, "failures", "Failed attempts, by commits of this node"),
            transitions: register(to, "transitions", "Transitions by commits of this node"),
            waits: register_durations(to, "wait_seconds", "From ready to claimed, by commits of this node"),
            runs: register_durations(to, "run_seconds", "From started to completed, by commits of this node"),
            engines: register(to, "engines", "Engines connected to this node"),
            deliveries: Deliveries::new(to),
            http: HttpMetrics::new(to),
            registry,
            types: RwLock::default(),
            transition_cache: RwLock::default(),
            last_commit: Mutex::new(Instant::now()),
            texts: [AnswerCache::new(TEXT_AGE_MAX), AnswerCache::new(TEXT_AGE_MAX)],
        };
        metrics.add_definitions(catalog);
        metrics
    }

    /// Creates the counters of a catalog's types and lifecycles that do not exist yet, at zero.
    pub(crate) fn add_definitions(&self, catalog: &Catalog) {
        let names = catalog.types().map(|it| it.name.clone()).chain([CATCH_ALL.into()]);
        let counters = names.map(|name| (name.clone(), self.counters_of(&name)));
        self.types.write().expect("the lock is never poisoned").extend(counters);
        self.create_at_zero(catalog);
    }

    fn counters_of(&self, name: &TypeName) -> TypeCounters {
        let label = name.to_string();
        let of = owned([("type", &label)]);
        TypeCounters {
            claims: self.claims.get_or_create_owned(&of),
            amendments: self.amendments.get_or_create_owned(&of),
            expiries: self.expiries.get_or_create_owned(&of),
            retries: self.retries.get_or_create_owned(&of),
            waits: self.waits.get_or_create_owned(&of),
            runs: self.runs.get_or_create_owned(&of),
            label,
        }
    }

    fn create_at_zero(&self, catalog: &Catalog) {
        for code in INTAKE_CODES {
            self.intake_refused.get_or_create(&owned([("code", code)])).inc_by(0);
        }
        for name in self.types.read().expect("the lock is never poisoned").keys() {
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
        let labels = [("lifecycle", lifecycle.as_str()), ("from", &from), ("to", to.as_str())];
        let counter = self.transitions.get_or_create_owned(&owned(labels));
        self.transition_cache.write().expect("the lock is never poisoned").insert(key, counter.clone());
        counter
    }

    pub(crate) fn count(&self, committed: &Committed) {
        *self.last_commit.lock().expect("the lock is never poisoned") = Instant::now();
        self.conflicts.inc_by(committed.conflicts);
        self.renewals.inc_by(committed.renewals);
        let types = self.types.read().expect("the lock is never poisoned");
        let counters = |name: &TypeName| types.get(name).unwrap_or_else(|| &types[CATCH_ALL]);
        for it in &committed.transitions {
            self.count_transition(counters(&it.job_type), it);
        }
        for job_type in &committed.amended {
            counters(job_type).amendments.inc();
        }
        for code in &committed.intake_refused {
            self.intake_refused.get_or_create(&owned([("code", *code)])).inc();
        }
    }

    fn count_transition(&self, of: &TypeCounters, it: &Transition) {
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

    /// Counts a delivery of a webhook.
    pub(crate) fn count_delivery(&self, is_success: bool) {
        let Deliveries { succeeded, failed } = &self.deliveries;
        let counter = if is_success { succeeded } else { failed };
        counter.inc();
    }

    /// All metrics, read at most once per second.
    pub(crate) async fn text(&self, app: &App, format: Format) -> Bytes {
        self.texts[format as usize].get(async { self.read(app, format).await.into() }).await
    }

    /// All metrics; without the gauges of the store if it is unavailable.
    async fn read(&self, app: &App, format: Format) -> String {
        self.engines.set(app.hub.engine_count() as i64);
        let mut text = String::new();
        let mut add = |registry: &Registry| {
            encode_registry(&mut text, registry).expect("writing to a string succeeds");
        };
        add(&self.registry);
        match gauges::registry(app).await {
            Ok(gauges) => add(&gauges),
            Err(error) => tracing::warn!(?error, "gauges not read"),
        }
        add(&process::registry());
        match format {
            Format::Classic => classic::of_open_metrics(&text),
            Format::OpenMetrics => {
                encode_eof(&mut text).expect("writing to a string succeeds");
                text
            }
        }
    }
}

impl Deliveries {
    fn new(to: &mut Registry) -> Self {
        let all: Family<Labels<1>, Counter> =
            register(to, "webhook_deliveries", "Deliveries of webhooks attempted by this node");
        let of = |result| all.get_or_create_owned(&owned([("result", result)]));
        Self { succeeded: of("succeeded"), failed: of("failed") }
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

fn failure_labels(category: Category, class: Class, job_type: &str) -> Labels<3> {
    let (category, class) = (category.as_str(), class.as_str());
    [("category", category.into()), ("class", class.into()), ("type", job_type.to_owned().into())]
}
