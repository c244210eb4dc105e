//! Overload: ten times as many creations as the server can finish, within 256 MB.
//!
//! First the load keeps a small backlog, which measures the capacity: jobs finished per second. Then creations arrive at ten
//! times that rate, whatever the answers are; those that are refused are not repeated.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::load::{Load, LoadState, REPEAT_PAUSE};
use super::{CONFIG, Survived, memory_kib};
use crate::{Server, Setup, Store, id, rows};

const MEMORY_BYTES: u64 = 256_000_000;
const FACTOR: f64 = 10.0;
const GOODPUT_MIN: f64 = 0.8;
const STEADY_PRODUCERS: usize = 4;
const WORKERS: usize = 16;
/// Jobs in one call.
const BATCH: usize = 100;
/// The backlog while the capacity is measured.
const BACKLOG_MAX: usize = 5000;
/// Operations that are acknowledged before anything is measured.
const WARM_UP_OPERATIONS: usize = 4000;
/// Calls without an answer, at most; later ones are not sent.
const IN_FLIGHT_MAX: usize = 256;
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// What a run has measured.
#[derive(Default)]
struct Measured {
    /// Jobs finished per second with a small backlog.
    capacity: f64,
    /// Jobs finished per second under overload.
    goodput: f64,
    offered: f64,
    accepted: usize,
    refused_creations: usize,
    refused_claims: usize,
    refused_reports: usize,
    /// Anonymous memory of the server, sampled.
    memory_kib_max: u64,
}

/// Measures the capacity for a quarter of this time, and overloads the server for the rest.
pub(super) async fn run(span: Duration, as_root: bool) -> Survived {
    let group = as_root.then(|| MemoryGroup::new(MEMORY_BYTES).expect("root may create a control group"));
    let mut setup = Setup::new(Store::Sqlite).await.config(CONFIG);
    setup = match &group {
        Some(group) => setup.group(&group.0),
        None => setup.env([("TENURE_LIMITS_MEMORY", MEMORY_BYTES.to_string())]),
    };
    let mut server = setup.start().await;
    if as_root {
        separate_cores(server.id());
    }
    let mut load = Load::idle(vec![server.url().to_owned()]);
    for worker in 0..WORKERS {
        load.spawn(|state| work(state, format!("w{worker}")));
    }
    let measured = measure(&mut load, &server, span).await;
    let acknowledged = load.end().await;
    let operations = acknowledged.operations();
    let jobs = acknowledged.check(&server).await;
    server.setup().verify();
    assert!(server.is_running(), "no restart:\n{}", server.logs());
    let resident_kib = memory_kib(server.id(), "VmRSS:");
    let (measured, missed) = (measured.sentences(), measured.missed());
    Survived { faults: 1, acknowledged: operations, jobs, resident_kib, measured, missed }
}

async fn measure(load: &mut Load, server: &Server, span: Duration) -> Measured {
    let mut measured = Measured::default();
    let steady_ends = Arc::new(AtomicBool::new(false));
    for producer in 0..STEADY_PRODUCERS {
        load.spawn_producer(|state| keep_backlog(state, producer, Arc::clone(&steady_ends)));
    }
    load.more(WARM_UP_OPERATIONS).await;
    measured.capacity = rate(load, server, span / 4, &mut measured.memory_kib_max).await;
    steady_ends.store(true, Ordering::Relaxed);
    let flood_rate = FACTOR * measured.capacity;
    let created = |load: &Load| load.state().acknowledged.lock().unwrap().created.len();
    let before = created(load);
    load.spawn_producer(|state| flood(state, flood_rate));
    measured.goodput = rate(load, server, span * 3 / 4, &mut measured.memory_kib_max).await;
    let refused = &load.state().refused;
    measured.offered = flood_rate * (span * 3 / 4).as_secs_f64();
    measured.accepted = created(load) - before;
    measured.refused_creations = refused.creations.load(Ordering::Relaxed);
    measured.refused_claims = refused.claims.load(Ordering::Relaxed);
    measured.refused_reports = refused.reports.load(Ordering::Relaxed);
    measured
}

impl Measured {
    fn share(&self) -> f64 {
        self.goodput / self.capacity
    }

    fn sentences(&self) -> Vec<String> {
        let Self { capacity, goodput, offered, accepted, memory_kib_max, .. } = self;
        vec![
            format!(
                "capacity {capacity:.0} jobs/s; goodput {goodput:.0} jobs/s ({:.0} %)",
                100.0 * self.share()
            ),
            format!(
                "{offered:.0} creations offered, {accepted} accepted, {} refused",
                self.refused_creations
            ),
            format!(
                "{} claims refused, {} heartbeats and reports refused",
                self.refused_claims, self.refused_reports
            ),
            format!("{memory_kib_max} KiB of anonymous memory at most, of {} KiB", MEMORY_BYTES / 1024),
        ]
    }

    fn missed(&self) -> Vec<String> {
        let targets = [
            (self.share() >= GOODPUT_MIN, "goodput is less than 80 % of the capacity"),
            (self.refused_creations > 0, "no creation was refused, so the server was not overloaded"),
            (self.refused_reports == 0, "heartbeats or reports were refused"),
            (self.memory_kib_max * 1024 <= MEMORY_BYTES, "the server used more memory than its limit"),
        ];
        targets.iter().filter(|(is_met, _)| !is_met).map(|(_, sentence)| (*sentence).to_owned()).collect()
    }
}

/// Gives the server one core and the load all others, as if the load came from other machines.
fn separate_cores(server: u32) {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    if cores > 1 {
        for (cores, process) in [("0".to_owned(), server), (format!("1-{}", cores - 1), std::process::id())] {
            let mut taskset = Command::new("taskset");
            taskset.args(["--all-tasks", "--cpu-list", "--pid", &cores, &process.to_string()]);
            let output = taskset.output().expect("taskset is installed");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Jobs finished per second, for a time.
async fn rate(load: &Load, server: &Server, span: Duration, memory_max: &mut u64) -> f64 {
    let finished = || load.state().acknowledged.lock().unwrap().finished.len();
    let (since, before) = (Instant::now(), finished());
    let mut ticks = tokio::time::interval(SAMPLE_INTERVAL);
    while since.elapsed() < span {
        ticks.tick().await;
        *memory_max = memory_kib(server.id(), "RssAnon:").max(*memory_max);
    }
    (finished() - before) as f64 / since.elapsed().as_secs_f64()
}

/// Creates jobs whenever the backlog is small.
async fn keep_backlog(state: Arc<LoadState>, producer: usize, ends: Arc<AtomicBool>) {
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    for n in 0.. {
        while state.backlog() > BACKLOG_MAX {
            ticks.tick().await;
        }
        if ends.load(Ordering::Relaxed) || state.is_stopping() {
            return;
        }
        create(&state, &format!("s{producer}-{n}")).await;
    }
}

/// Creates jobs at a rate until the load stops, whatever the answers are.
async fn flood(state: Arc<LoadState>, per_second: f64) {
    let mut ticks = tokio::time::interval(Duration::from_secs_f64(BATCH as f64 / per_second));
    let mut calls = JoinSet::new();
    for n in 0.. {
        ticks.tick().await;
        if state.is_stopping() {
            break;
        }
        while calls.try_join_next().is_some() {}
        if calls.len() < IN_FLIGHT_MAX {
            let state = Arc::clone(&state);
            calls.spawn(async move { create(&state, &format!("f{n}")).await });
        }
    }
    calls.join_all().await;
}

/// Creates a batch of jobs, and does not repeat what is refused. After a call without an answer the jobs may be stored, so
/// that batch is sent until all of it is accepted.
async fn create(state: &LoadState, name: &str) {
    let key = |n: usize| format!("{name}-{n}");
    // Formatted, because the load must cost less than what it asks for.
    let job = |n| format!(r#"{{"type":"plain","payload":{n},"idempotency_key":"{}"}}"#, key(n));
    let body = format!(r#"{{"jobs":[{}]}}"#, (0..BATCH).map(job).collect::<Vec<_>>().join(","));
    let mut ticks = tokio::time::interval(REPEAT_PAUSE);
    let mut may_be_stored = false;
    let answer = loop {
        ticks.tick().await;
        match state.send("/api/jobs/batch", None, body.clone()).await {
            None => may_be_stored = true,
            Some((503, _)) if may_be_stored => {}
            Some((503, _)) => {
                state.refused.creations.fetch_add(BATCH, Ordering::Relaxed);
                return;
            }
            Some((status, answer)) => {
                assert_eq!(status, 200, "{answer}");
                if !may_be_stored || !rows(&answer["results"]).iter().any(is_refused) {
                    break answer;
                }
            }
        }
    };
    let mut acknowledged = state.acknowledged.lock().unwrap();
    for (n, result) in rows(&answer["results"]).iter().enumerate() {
        if is_refused(result) {
            state.refused.creations.fetch_add(1, Ordering::Relaxed);
        } else {
            acknowledged.created.insert(key(n), id(&result["ok"]).to_owned());
        }
    }
}

/// Whether an item of a batch is refused because of the load. Every other item has succeeded.
fn is_refused(result: &Value) -> bool {
    let code = &result["error"]["code"];
    assert!(result["ok"].is_object() || code == "overloaded", "{result}");
    code == "overloaded"
}

/// Claims jobs, renews their leases and finishes them.
async fn work(state: Arc<LoadState>, name: String) {
    for round in 0.. {
        let Some(jobs) = state.claim(&name, round, BATCH).await else { return };
        let reports = |verb: &str| -> Vec<Value> {
            let report =
                |job: &Value| json!({ "job": job["id"], "fence": job["lease"]["fence"], "verb": verb });
            jobs.iter().map(report).collect()
        };
        report(&state, &name, reports("heartbeat")).await;
        report(&state, &name, reports("succeed")).await;
        let finished: BTreeSet<String> = jobs.iter().map(|job| id(job).to_owned()).collect();
        state.acknowledged.lock().unwrap().finished.extend(finished);
    }
}

/// Sends reports until all are accepted.
async fn report(state: &LoadState, worker: &str, mut reports: Vec<Value>) {
    while !reports.is_empty() {
        let body = json!({ "worker": worker, "reports": reports }).to_string();
        let Some((status, answer)) = state.send("/api/reports", None, body).await else { continue };
        if status == 503 {
            state.refused.reports.fetch_add(reports.len(), Ordering::Relaxed);
            continue;
        }
        assert_eq!(status, 200, "{answer}");
        let mut results = rows(&answer["results"]).iter();
        reports.retain(|_| results.next().is_some_and(is_refused));
        state.refused.reports.fetch_add(reports.len(), Ordering::Relaxed);
    }
}

/// A control group with a limit of memory. Removed when dropped, after its processes have ended.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// `None` if there is no controller, or this process may not use it.
    fn new(bytes: u64) -> Option<Self> {
        let versions = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        versions.into_iter().find_map(|(parent, limit)| {
            let group = Path::new(parent).join(format!("tenure-torture-{}", std::process::id()));
            fs::create_dir(&group).ok()?;
            let group = Self(group);
            // Without the controller the file does not exist.
            let is_limited =
                group.0.join(limit).exists() && fs::write(group.0.join(limit), bytes.to_string()).is_ok();
            is_limited.then_some(group)
        })
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        drop(fs::remove_dir(&self.0));
    }
}
