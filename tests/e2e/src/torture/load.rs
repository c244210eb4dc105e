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
/// A request without an answer is repeated after this time.
const ANSWER_MAX: Duration = Duration::from_secs(5);
const REPEAT_PAUSE: Duration = Duration::from_millis(20);

/// Producers and workers that run until [`Load::end`].
pub(super) struct Load {
    state: Arc<LoadState>,
    tasks: JoinSet<()>,
}

struct LoadState {
    urls: Vec<String>,
    turn: AtomicUsize,
    client: Client,
    stopping: AtomicBool,
    acknowledged: Mutex<Acknowledged>,
}

/// Calls that were acknowledged.
#[derive(Default)]
pub(super) struct Acknowledged {
    /// Jobs by the keys of their creation.
    created: BTreeMap<String, String>,
    /// Jobs whose success was reported.
    finished: BTreeSet<String>,
    claims: usize,
}

impl Load {
    pub(super) fn start(urls: Vec<String>) -> Self {
        let client = http_client().timeout(ANSWER_MAX).build().unwrap();
        let state = Arc::new(LoadState {
            urls,
            turn: AtomicUsize::new(0),
            client,
            stopping: AtomicBool::new(false),
            acknowledged: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        for producer in 0..PRODUCERS {
            tasks.spawn(Arc::clone(&state).produce(producer));
        }
        for worker in 0..WORKERS {
            tasks.spawn(Arc::clone(&state).work(worker));
        }
        Self { state, tasks }
    }

    /// Waits until this many more operations are acknowledged.
    pub(super) async fn more(&self, operations: usize) {
        let count = || self.state.acknowledged.lock().unwrap().operations();
        let enough = count() + operations;
        eventually("the load continues", async || count() >= enough).await;
    }

    /// Stops the producers, lets the workers finish every job, and returns what was acknowledged.
    pub(super) async fn end(self) -> Acknowledged {
        self.state.stopping.store(true, Ordering::Relaxed);
        self.tasks.join_all().await;
        std::mem::take(&mut *self.state.acknowledged.lock().unwrap())
    }
}

impl LoadState {
    async fn produce(self: Arc<Self>, producer: usize) {
        for n in 0.. {
            if self.is_stopping() {
                return;
            }
            let key = format!("p{producer}-{n}");
            let job = self.post("/api/jobs", &key, &json!({ "type": "plain", "payload": n })).await;
            self.acknowledged.lock().unwrap().created.insert(key, id(&job).to_owned());
        }
    }

    async fn work(self: Arc<Self>, worker: usize) {
        let name = format!("w{worker}");
        for round in 0.. {
            let claim = json!({
                "worker": name, "max": 20, "start": true, "wait": "200ms",
                "request_id": format!("{name}-{round}"),
            });
            let claimed = self.post("/api/claims", &format!("c-{name}-{round}"), &claim).await;
            let jobs = rows(&claimed["jobs"]);
            let is_last = jobs.is_empty() && self.is_stopping() && self.is_finished();
            if is_last {
                return;
            }
            self.acknowledged.lock().unwrap().claims += 1;
            for job in jobs {
                let report = json!({ "worker": name, "fence": job["lease"]["fence"], "result": name });
                let path = format!("/api/jobs/{}/succeed", id(job));
                let done = self.post(&path, &format!("r-{}", id(job)), &report).await;
                assert_eq!(done["state"], "succeeded", "{done}");
                self.acknowledged.lock().unwrap().finished.insert(id(job).to_owned());
            }
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn is_finished(&self) -> bool {
        let acknowledged = self.acknowledged.lock().unwrap();
        acknowledged.created.values().all(|job| acknowledged.finished.contains(job))
    }

    /// Repeats a request at one node after the other until it has an answer that is not a 503.
    async fn post(&self, path: &str, key: &str, body: &Value) -> Value {
        let mut ticks = tokio::time::interval(REPEAT_PAUSE);
        loop {
            ticks.tick().await;
            let url = &self.urls[self.turn.fetch_add(1, Ordering::Relaxed) % self.urls.len()];
            let request = self.client.post(format!("{url}{path}")).header("idempotency-key", key);
            let request = request.header("content-type", "application/json").body(body.to_string());
            let Ok(response) = request.send().await else { continue };
            let status = response.status().as_u16();
            let Ok(text) = response.text().await else { continue };
            if status != 503 {
                assert!(status < 300, "{path}: {status} {text}");
                return serde_json::from_str(&text).expect("the answer is JSON");
            }
        }
    }
}

impl Acknowledged {
    pub(super) fn operations(&self) -> usize {
        self.created.len() + self.finished.len() + self.claims
    }

    /// Checks that each key has made one job, and that every acknowledged one is there and succeeded once. Returns their number.
    pub(super) async fn check(&self, server: &Server) -> usize {
        let stored = server.all_pages("/api/jobs?limit=500", "jobs").await;
        let by_id: BTreeMap<&str, &Value> = stored.iter().map(|job| (id(job), job)).collect();
        let made: BTreeSet<&String> = self.created.values().collect();
        assert_eq!(made.len(), self.created.len(), "two keys have the same job");
        assert_eq!(stored.len(), made.len(), "a request created a second job");
        for job in made {
            let found = by_id.get(job.as_str()).unwrap_or_else(|| panic!("job {job} is lost"));
            assert_eq!(found["state"], "succeeded", "job {job}: {found}");
            assert_eq!(found["seq"], 4, "one event for each of its transitions: {found}");
        }
        stored.len()
    }
}
