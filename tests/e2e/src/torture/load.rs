//! The load of a torture run, its acknowledgements, and the check that all of them are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{Server, eventually, http_client, id, rows};

const PRODUCERS: usize = 8;
const WORKERS: usize = 4;
/// With worker processes, one job in this number is theirs.
const CHORES_SHARE: usize = 20;
/// A request without an answer is repeated after this time.
const ANSWER_MAX: Duration = Duration::from_secs(5);
pub(super) const REPEAT_PAUSE: Duration = Duration::from_millis(20);

/// Producers and workers that run until [`Load::end`].
pub(super) struct Load {
    state: Arc<LoadState>,
    tasks: JoinSet<()>,
}

pub(super) struct LoadState {
    urls: Vec<String>,
    turn: AtomicUsize,
    client: Client,
    stopping: AtomicBool,
    /// Producers that have not returned.
    producers: AtomicUsize,
    pub(super) acknowledged: Mutex<Acknowledged>,
    pub(super) refused: Refused,
}

/// Requests that were answered with 503.
#[derive(Default)]
pub(super) struct Refused {
    pub(super) creations: AtomicUsize,
    pub(super) claims: AtomicUsize,
    /// Heartbeats and reports under a lease.
    pub(super) reports: AtomicUsize,
}

/// Calls that were acknowledged.
#[derive(Default)]
pub(super) struct Acknowledged {
    /// Jobs by the keys of their creation.
    pub(super) created: BTreeMap<String, String>,
    /// Jobs for worker processes: their reports are not recorded here.
    chores: BTreeSet<String>,
    /// Jobs whose success was reported.
    pub(super) finished: BTreeSet<String>,
    claims: usize,
}

impl Load {
    /// Starts producers and workers; some of the jobs are for worker processes, if there are any.
    pub(super) fn start(urls: Vec<String>, has_processes: bool) -> Self {
        let mut load = Self::idle(urls);
        for producer in 0..PRODUCERS {
            load.spawn_producer(|state| state.produce(producer, has_processes));
        }
        for worker in 0..WORKERS {
            load.spawn(|state| state.work(worker));
        }
        load
    }

    /// A load without producers and workers.
    pub(super) fn idle(urls: Vec<String>) -> Self {
        let client = http_client().timeout(ANSWER_MAX).build().unwrap();
        let state = LoadState {
            urls,
            turn: AtomicUsize::new(0),
            client,
            stopping: AtomicBool::new(false),
            producers: AtomicUsize::new(0),
            acknowledged: Mutex::default(),
            refused: Refused::default(),
        };
        Self { state: Arc::new(state), tasks: JoinSet::new() }
    }

    pub(super) fn spawn<T: Future<Output = ()> + Send + 'static>(
        &mut self,
        task: impl FnOnce(Arc<LoadState>) -> T,
    ) {
        self.tasks.spawn(task(Arc::clone(&self.state)));
    }

    /// Starts a task that creates jobs, and returns when the load is stopping. Workers wait for it.
    pub(super) fn spawn_producer<T: Future<Output = ()> + Send + 'static>(
        &mut self,
        task: impl FnOnce(Arc<LoadState>) -> T,
    ) {
        let state = Arc::clone(&self.state);
        state.producers.fetch_add(1, Ordering::SeqCst);
        let task = task(Arc::clone(&state));
        self.tasks.spawn(async move {
            task.await;
            state.producers.fetch_sub(1, Ordering::SeqCst);
        });
    }

    pub(super) fn state(&self) -> &LoadState {
        &self.state
    }

    /// Waits until this many more operations are acknowledged.
    pub(super) async fn more(&self, operations: usize) {
        let enough = self.state.operations() + operations;
        eventually("the load continues", async || self.state.operations() >= enough).await;
    }

    /// Stops the producers, lets the workers finish every job, and returns what was acknowledged.
    pub(super) async fn end(self) -> Acknowledged {
        self.state.stopping.store(true, Ordering::Relaxed);
        self.tasks.join_all().await;
        std::mem::take(&mut *self.state.acknowledged.lock().unwrap())
    }
}

impl LoadState {
    async fn produce(self: Arc<Self>, producer: usize, has_processes: bool) {
        for n in 0.. {
            if self.is_stopping() {
                return;
            }
            let key = format!("p{producer}-{n}");
            let is_chore = has_processes && n % CHORES_SHARE == 0;
            let kind = if is_chore { "chore" } else { "plain" };
            let body = json!({ "type": kind, "payload": n });
            let job = self.post("/api/jobs", &key, &body, &self.refused.creations).await;
            let mut acknowledged = self.acknowledged.lock().unwrap();
            if is_chore {
                acknowledged.chores.insert(id(&job).to_owned());
            }
            acknowledged.created.insert(key, id(&job).to_owned());
        }
    }

    async fn work(self: Arc<Self>, worker: usize) {
        let name = format!("w{worker}");
        for round in 0.. {
            let Some(jobs) = self.claim(&name, round, 20).await else { return };
            if let Some(last) = jobs.last() {
                // The last one waits for the reports of all others.
                let beat = json!({ "worker": name, "fence": last["lease"]["fence"] });
                let path = format!("/api/jobs/{}/heartbeat", id(last));
                self.post(&path, &format!("h-{name}-{round}"), &beat, &self.refused.reports).await;
            }
            for job in &jobs {
                let report = json!({ "worker": name, "fence": job["lease"]["fence"], "result": name });
                let path = format!("/api/jobs/{}/succeed", id(job));
                let key = format!("r-{}", id(job));
                let done = self.post(&path, &key, &report, &self.refused.reports).await;
                assert_eq!(done["state"], "succeeded", "{done}");
                self.acknowledged.lock().unwrap().finished.insert(id(job).to_owned());
            }
        }
    }

    /// Jobs that a worker starts now; `None` if no producer is left and every job is finished.
    pub(super) async fn claim(&self, worker: &str, round: usize, max: usize) -> Option<Vec<Value>> {
        let claim = json!({
            "worker": worker, "types": ["plain"], "max": max, "start": true, "wait": "200ms",
            "request_id": format!("{worker}-{round}"),
        });
        let key = format!("c-{worker}-{round}");
        let claimed = self.post("/api/claims", &key, &claim, &self.refused.claims).await;
        let jobs = rows(&claimed["jobs"]);
        if jobs.is_empty() && self.producers.load(Ordering::SeqCst) == 0 && self.backlog() == 0 {
            return None;
        }
        self.acknowledged.lock().unwrap().claims += 1;
        Some(jobs.to_vec())
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn operations(&self) -> usize {
        self.acknowledged.lock().unwrap().operations()
    }

    /// Jobs that this load has created and not finished.
    pub(super) fn backlog(&self) -> usize {
        let acknowledged = self.acknowledged.lock().unwrap();
        let own = acknowledged.created.len() - acknowledged.chores.len();
        // A job can be finished before its creation is acknowledged.
        own.saturating_sub(acknowledged.finished.len())
    }

    /// Repeats a request at one node after the other until it has an answer that is not a 503.
    pub(super) async fn post(&self, path: &str, key: &str, body: &Value, refused: &AtomicUsize) -> Value {
        let mut ticks = tokio::time::interval(REPEAT_PAUSE);
        loop {
            ticks.tick().await;
            match self.send(path, Some(key), body.to_string()).await {
                None => {}
                Some((503, _)) => drop(refused.fetch_add(1, Ordering::Relaxed)),
                Some((status, answer)) => {
                    assert_ne!(status, 404, "a job is lost: {path}");
                    assert!(status < 300, "acknowledged work is lost or refused: {path}: {status} {answer}");
                    return answer;
                }
            }
        }
    }

    /// Sends a request to one node after the other; `None` if it has no answer.
    pub(super) async fn send(&self, path: &str, key: Option<&str>, body: String) -> Option<(u16, Value)> {
        let url = &self.urls[self.turn.fetch_add(1, Ordering::Relaxed) % self.urls.len()];
        let mut request = self.client.post(format!("{url}{path}")).header("content-type", "application/json");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let response = request.body(body).send().await.ok()?;
        let status = response.status().as_u16();
        let text = response.text().await.ok()?;
        Some((status, serde_json::from_str(&text).expect("the answer is JSON")))
    }
}

impl Acknowledged {
    pub(super) fn operations(&self) -> usize {
        self.created.len() + self.finished.len() + self.claims
    }

    /// Checks that each key has made one job, and that every acknowledged one is there and succeeded once. Returns their number.
    pub(super) async fn check(&self, server: &Server) -> usize {
        let has_ended = async |job: &str| server.read(&format!("/api/jobs/{job}")).await["phase"] == "final";
        for chore in &self.chores {
            eventually("the worker processes finish their jobs", async || has_ended(chore).await).await;
        }
        let stored = server.all_pages("/api/jobs?limit=500", "jobs").await;
        let by_id: BTreeMap<&str, &Value> = stored.iter().map(|job| (id(job), job)).collect();
        let made: BTreeSet<&String> = self.created.values().collect();
        assert_eq!(made.len(), self.created.len(), "two keys have the same job");
        for job in &made {
            let found = by_id.get(job.as_str()).unwrap_or_else(|| panic!("job {job} is lost"));
            assert_eq!(found["state"], "succeeded", "job {job}: {found}");
            if !self.chores.contains(*job) {
                assert_eq!(found["seq"], 4, "one event for each of its transitions: {found}");
            }
        }
        assert_eq!(stored.len(), made.len(), "a request created a second job");
        for chore in &self.chores {
            check_history(server, chore).await;
        }
        stored.len()
    }
}

/// A job whose workers were killed or frozen has one event for each transition, and succeeded once.
async fn check_history(server: &Server, job: &str) {
    let history = server.read(&format!("/api/jobs/{job}/events")).await;
    let events = rows(&history["events"]);
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>(), "{events:?}");
    let successes = events.iter().filter(|event| event["trigger"] == "succeed").count();
    assert_eq!(successes, 1, "{events:?}");
}
