//! Several nodes on one PostgreSQL: changes are visible on all of them, and a killed node loses nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_e2e::{
    Server, Setup, Store, assert_fields, column, eventually, http_client, id, in_time, path, rows,
};
use tokio::task::JoinSet;

use crate::jobs::{REVIEW, REVIEW_FILES};

const CONFIG: &str = include_str!("fixtures/nodes.toml");

/// Time limit of a load.
const LOAD: Duration = Duration::from_mins(2);

/// Sends requests to one node after the other while some are down or stopping.
pub(crate) struct Fleet {
    urls: RwLock<Vec<String>>,
    turn: AtomicUsize,
    client: reqwest::Client,
}

impl Fleet {
    pub(crate) fn of(servers: &[&Server]) -> Arc<Self> {
        let urls = servers.iter().map(|server| server.url().to_owned()).collect();
        let client = http_client().timeout(Duration::from_secs(10)).build().unwrap();
        Arc::new(Self { urls: RwLock::new(urls), turn: AtomicUsize::new(0), client })
    }

    /// Replaces the address of a restarted node.
    fn moved(&self, from: &str, to: &str) {
        let mut urls = self.urls.write().unwrap();
        urls.iter_mut().filter(|url| *url == from).for_each(|url| to.clone_into(url));
    }

    fn next_url(&self) -> String {
        let urls = self.urls.read().unwrap();
        urls[self.turn.fetch_add(1, Ordering::Relaxed) % urls.len()].clone()
    }

    /// One attempt; `None` without an answer, or at a 503.
    pub(crate) async fn try_post(&self, path: &str, key: &str, body: &Value) -> Option<(u16, Value)> {
        let request = self.client.post(format!("{}{path}", self.next_url())).header("idempotency-key", key);
        let request = request.header("content-type", "application/json").body(body.to_string());
        let response = request.send().await.ok()?;
        let status = response.status().as_u16();
        let text = response.text().await.ok()?;
        (status != 503).then(|| (status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    /// The first answer of any node.
    async fn post(&self, path: &str, key: &str, body: &Value) -> Value {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        loop {
            ticks.tick().await;
            if let Some((status, body)) = self.try_post(path, key, body).await {
                assert!(status < 300, "{path}: {status} {body}");
                return body;
            }
        }
    }
}

/// Calls that the server has acknowledged.
#[derive(Default)]
struct Acknowledged {
    created: Mutex<Vec<String>>,
    finished: Mutex<BTreeMap<String, u32>>,
}

impl Acknowledged {
    fn created(&self) -> usize {
        self.created.lock().unwrap().len()
    }

    fn finished(&self) -> usize {
        self.finished.lock().unwrap().len()
    }
}

/// Producers that create this many jobs, and workers that run until all of them are finished.
fn load(fleet: &Arc<Fleet>, kind: &'static str, jobs: usize, done: &Arc<Acknowledged>) -> JoinSet<()> {
    const PRODUCERS: usize = 4;
    const WORKERS: usize = 6;
    let mut tasks = JoinSet::new();
    for producer in 0..PRODUCERS {
        let (fleet, done) = (Arc::clone(fleet), Arc::clone(done));
        tasks.spawn(async move {
            for n in 0..jobs / PRODUCERS {
                let body = json!({ "type": kind, "payload": { "n": n } });
                let job = fleet.post("/api/jobs", &format!("p{producer}-{n}"), &body).await;
                done.created.lock().unwrap().push(id(&job).to_owned());
            }
        });
    }
    for worker in 0..WORKERS {
        let (fleet, done) = (Arc::clone(fleet), Arc::clone(done));
        tasks.spawn(async move {
            let name = format!("w{worker}");
            for round in 0.. {
                if done.finished() >= jobs {
                    return;
                }
                let claim = json!({
                    "worker": name, "types": [kind], "max": 10, "start": true, "wait": "200ms",
                    "request_id": format!("{name}-{round}"),
                });
                let claimed = fleet.post("/api/claims", &format!("c-{name}-{round}"), &claim).await;
                let claimed = rows(&claimed["jobs"]);
                let report = |job: &Value| {
                    json!({ "job": job["id"], "fence": job["lease"]["fence"], "verb": "succeed", "result": name })
                };
                let reports = json!({ "worker": name, "reports": claimed.iter().map(report).collect::<Vec<_>>() });
                let answer = fleet.post("/api/reports", &format!("r-{name}-{round}"), &reports).await;
                for (job, result) in claimed.iter().zip(rows(&answer["results"])) {
                    if result["ok"].is_object() {
                        *done.finished.lock().unwrap().entry(id(job).to_owned()).or_default() += 1;
                    } else {
                        // The lease expired while no node answered: another worker has the job, or had it.
                        assert_eq!(kind, "quick", "a steady lease was lost: {result}");
                        assert_eq!(result["error"]["status"], 409, "{result}");
                    }
                }
            }
        });
    }
    tasks
}

async fn all(tasks: JoinSet<()>) {
    tokio::time::timeout(LOAD, tasks.join_all()).await.expect("the load ends");
}

/// Each job exists once, succeeded once, never had two leases at a time, and the store agrees with its history.
async fn nothing_is_lost_or_doubled(server: &Server, done: &Acknowledged, jobs: usize) {
    let mut created = done.created.lock().unwrap().clone();
    created.sort();
    created.dedup();
    assert_eq!(created.len(), jobs, "each key made one job");
    let histories = server.histories().await;
    assert_eq!(histories.len(), jobs, "no job but the acknowledged ones");
    for id in &created {
        let history = &histories[id];
        let phases: Vec<&str> =
            history.iter().map(|event| event["payload"]["phase"].as_str().unwrap()).collect();
        assert_eq!(phases.iter().filter(|phase| **phase == "final").count(), 1, "{id}: {history:?}");
        assert_eq!(history.last().unwrap()["trigger"], "succeed", "{id}: {history:?}");
        let seqs: Vec<u64> = history.iter().filter_map(|event| event["seq"].as_u64()).collect();
        assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{id}: {seqs:?}");
        for (n, event) in history.iter().enumerate().filter(|(_, event)| event["trigger"] == "claim") {
            assert_eq!(phases[n - 1], "ready", "{id} was claimed while it was held: {event}");
        }
    }
    let jobs = server.list("phase=final&outcome=succeeded&limit=500").await;
    assert!(jobs.iter().all(|job| job["state"] == "succeeded" && job["lease"].is_null()));
    for phase in ["ready", "held", "active", "waiting"] {
        assert_eq!(server.list(&format!("phase={phase}")).await, Vec::<Value>::new(), "stuck");
    }
    verify(server).await;
}

/// `tenure verify` finds no difference.
pub(crate) async fn verify(server: &Server) {
    let setup = server.setup().clone();
    let verified = tokio::task::spawn_blocking(move || setup.verify());
    in_time("tenure verify", verified).await.unwrap();
}

async fn two_nodes() -> [Server; 2] {
    let first = Server::with(CONFIG, Store::Postgres).await;
    let second = first.second_node().await;
    [first, second]
}

async fn three_nodes() -> [Server; 3] {
    let [first, second] = two_nodes().await;
    let third = first.second_node().await;
    [first, second, third]
}

#[tokio::test]
async fn changes_on_one_node_are_visible_on_the_others() {
    let [a, b] = two_nodes().await;
    let waiting = json!({ "worker": "w1", "types": ["steady"], "wait": "60s", "start": true });
    let (claimed, made) =
        tokio::join!(b.claim(waiting), a.create(json!({ "type": "steady", "user_id": "u1" })));
    let job = &claimed[0];
    assert_eq!(job["id"], made["id"], "a claim that waits at one node gets what another is given");
    assert_fields(&a.job(job).await, json!({ "state": "running", "worker": "w1" }));
    let mut stream = b.stream(&path(job, "stream"), None).await;
    for n in 1..=3 {
        let line = json!({ "stream": "stdout", "level": "info", "text": format!("line {n}") });
        a.report_ok(job, "logs", json!({ "lines": [line] })).await;
        let received = stream.next().await.unwrap();
        assert_eq!((received.event.as_str(), &received.data["text"]), ("log", &line["text"]));
    }
    a.call_ok(job, "cancel", &json!({ "reason": "enough" })).await;
    let heartbeat = b.report_ok(job, "heartbeat", json!({})).await;
    assert!(!heartbeat["cancel"].is_null(), "{heartbeat}");
    b.report_ok(job, "cancel-confirm", json!({})).await;
    let last = stream.rest().await;
    assert_eq!(last.len(), 1, "{last:?}");
    assert_eq!((last[0].event.as_str(), &last[0].data["state"]), ("status", &json!("cancelled")));
    assert_eq!(a.job(job).await, b.job(job).await);
    assert_eq!(a.journal().await, b.journal().await);
    verify(&a).await;
}

#[tokio::test]
async fn a_queue_paused_on_one_node_is_paused_on_all() {
    let [a, b] = two_nodes().await;
    let claim = json!({ "worker": "w1", "types": ["steady"] });
    a.post_ok("/api/queues/default/pause", &json!({})).await;
    a.create(json!({ "type": "steady" })).await;
    assert_eq!(b.claim(claim.clone()).await, Vec::<Value>::new());
    b.post_ok("/api/queues/default/resume", &json!({})).await;
    assert_eq!(a.claim(claim).await.len(), 1);
}

#[tokio::test]
async fn explain_knows_the_workers_of_other_nodes() {
    let [a, b] = two_nodes().await;
    a.post_ok("/api/queues/default/pause", &json!({})).await;
    let job = a.create(json!({ "type": "steady" })).await;
    let waits_for = async || {
        let why = b.read(&path(&job, "explain")).await;
        column(&why["waiting_for"], "what")
    };
    assert!(waits_for().await.contains(&json!("worker")), "no worker is there");
    let claim = json!({ "worker": "w1", "types": ["steady"], "wait": "60s" });
    let seen =
        eventually("the worker of the other node is known", async || waits_for().await == ["paused_queue"]);
    tokio::select! {
        () = seen => {}
        claimed = a.claim(claim) => panic!("the queue is paused: {claimed:?}"),
    }
}

#[tokio::test]
async fn a_node_loads_a_lifecycle_that_another_node_registered() {
    let a = Server::with(CONFIG, Store::Postgres).await;
    let setup = Setup::on_database(a.setup().database_url().unwrap());
    let setup = REVIEW_FILES.iter().fold(setup, |setup, (name, text)| setup.file(name, text));
    let b = setup.start().await;
    let job = b.create(json!({ "type": "review" })).await;
    assert_eq!(a.read(&path(&job, "explain")).await["state"], "queued");
    let late = b.create(json!({ "type": "review" })).await;
    let claim = json!({ "worker": "w1", "types": ["review"], "max": 2, "wait": "30s" });
    let claimed = a.claim(claim).await;
    assert_eq!(column(&json!(claimed), "id"), [job["id"].clone(), late["id"].clone()]);
}

#[tokio::test]
async fn a_lifecycle_file_older_than_the_stored_one_is_logged() {
    let setup = Setup::new(Store::Sqlite).await;
    let setup = REVIEW_FILES.iter().fold(setup, |setup, (name, text)| setup.file(name, text));
    let newer = REVIEW.replace("version = 1", "version = 2");
    let server = setup.clone().file("review.toml", newer).start().await;
    assert!(!server.logs().contains("lifecycle file is older"), "{}", server.logs());
    drop(server);
    let server = setup.file("review.toml", REVIEW).start().await;
    let logs = server.logs();
    let line = logs.lines().find(|line| line.contains("lifecycle file is older than the stored version"));
    assert!(line.is_some_and(|line| line.contains("review") && line.contains("WARN")), "{logs}");
    let job = server.create(json!({ "type": "review" })).await;
    assert_eq!(job["lifecycle_version"], 2);
}

#[tokio::test]
async fn keys_are_valid_or_revoked_on_every_node() {
    let [mut a, mut b] = two_nodes().await;
    let admin = a.create_key("admin", None).await;
    let refused = async || b.get("/api/jobs").await.status == 401;
    eventually("the other node is closed, too", refused).await;
    a.use_key(Some(&admin));
    b.use_key(Some(&admin));
    let viewer = b.create_key("viewer", None).await;
    let accepted = async || a.get_as(&viewer, "/api/jobs").await.status == 200;
    eventually("a key of one node is known on the other", accepted).await;
    a.revoke(&viewer).await;
    for node in [&a, &b] {
        node.get_as(&viewer, "/api/jobs").await.problem(401, "unauthenticated");
    }
}

#[tokio::test]
async fn the_feed_is_the_same_on_every_node() {
    const JOBS: usize = 300;
    let nodes = three_nodes().await;
    let fleet = Fleet::of(&[&nodes[0], &nodes[1], &nodes[2]]);
    let done = Arc::new(Acknowledged::default());
    let mut feeds = Vec::new();
    for node in &nodes {
        feeds.push(node.stream("/api/events", None).await);
    }
    all(load(&fleet, "steady", JOBS, &done)).await;
    let written = nodes[0].journal().await;
    let ids: Vec<&Value> = written.iter().map(|event| &event["id"]).collect();
    for (node, feed) in nodes.iter().zip(&mut feeds) {
        assert_eq!(node.journal().await, written, "{}: its pages differ", node.url());
        let mut cursor = 0;
        for id in &ids {
            let received = feed.next().await.unwrap();
            assert_eq!(received.data["id"], **id, "{}: its feed differs", node.url());
            let at: u64 = received.id.parse().unwrap();
            assert!(at > cursor, "cursors grow");
            cursor = at;
        }
    }
    nothing_is_lost_or_doubled(&nodes[1], &done, JOBS).await;
}

#[tokio::test]
async fn a_killed_node_loses_no_jobs() {
    const JOBS: usize = 1200;
    let [a, b, mut c] = three_nodes().await;
    let fleet = Fleet::of(&[&a, &b, &c]);
    let done = Arc::new(Acknowledged::default());
    let tasks = load(&fleet, "quick", JOBS, &done);
    eventually("some are finished", async || done.finished() >= JOBS / 10).await;
    c.kill();
    assert!(done.finished() < JOBS, "it was killed too late to matter");
    all(tasks).await;
    nothing_is_lost_or_doubled(&a, &done, JOBS).await;
    assert_eq!(a.journal().await, b.journal().await);
}

#[tokio::test]
async fn a_rolling_restart_loses_no_requests() {
    const JOBS: usize = 1200;
    let nodes = three_nodes().await;
    let fleet = Fleet::of(&[&nodes[0], &nodes[1], &nodes[2]]);
    let done = Arc::new(Acknowledged::default());
    let tasks = load(&fleet, "steady", JOBS, &done);
    let mut again = Vec::new();
    for (n, mut node) in nodes.into_iter().enumerate() {
        eventually("the load continues", async || done.created() > n * JOBS / 12).await;
        let from = node.url().to_owned();
        assert!(node.terminate().await.success(), "{}", node.logs());
        let node = node.restart().await;
        fleet.moved(&from, node.url());
        again.push(node);
    }
    all(tasks).await;
    let is_once = done.finished.lock().unwrap().values().all(|times| *times == 1);
    assert!(is_once, "each was finished by one worker");
    nothing_is_lost_or_doubled(&again[0], &done, JOBS).await;
}

#[tokio::test]
async fn every_node_gives_the_same_answer() {
    let [a, b] = two_nodes().await;
    let steady = json!({ "type": "steady" });
    let first = a.post_keyed("once", "/api/jobs", &steady).await.expect(202);
    assert_eq!(b.post_keyed("once", "/api/jobs", &steady).await.expect_replay()["id"], first["id"]);
    let claim = json!({ "worker": "w1", "types": ["steady"], "request_id": "r1" });
    let (one, same) = (a.claim(claim.clone()).await.remove(0), b.claim(claim).await.remove(0));
    assert_eq!(one["id"], first["id"]);
    assert_eq!(one["lease"]["fence"], same["lease"]["fence"]);
    a.report_ok(&one, "start", json!({})).await;
    b.succeed(&one).await;
    assert_eq!(a.succeed(&one).await["replayed"], true);
}

#[tokio::test]
async fn a_node_can_join_later() {
    let a = Server::with(CONFIG, Store::Postgres).await;
    let made = a.create(json!({ "type": "steady" })).await;
    let late = Setup::on_database(a.setup().database_url().unwrap()).config(CONFIG).start().await;
    assert_eq!(late.job(&made).await, a.job(&made).await);
}
