//! Claims.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_e2e::{
    assert_fields, column, eventually, field_names, millis, on_both_stores, on_both_stores_with_config, path,
    rows, sorted_words,
};
use tokio::io::AsyncWriteExt as _;

use super::QUICK;
use crate::jobs::JOB;

fn types(jobs: &[Value]) -> Vec<&str> {
    jobs.iter().map(|job| job["type"].as_str().unwrap()).collect()
}

#[test]
fn a_claim_returns_jobs_with_leases_and_payloads() {
    on_both_stores(async |server| {
        assert_eq!(server.claim(json!({ "worker": "w1", "max": 5 })).await, Vec::<Value>::new());
        let job = server.create(json!({ "type": "a", "payload": { "n": 1 } })).await;
        let jobs = server.claim(json!({ "worker": "w1", "max": 5 })).await;
        assert_eq!(jobs.len(), 1);
        let claimed = &jobs[0];
        let all = format!("{JOB} traceparent");
        assert_eq!(field_names(claimed), sorted_words(&all));
        assert_fields(claimed, json!({ "id": job["id"], "state": "assigned", "worker": "w1", "attempt": 1 }));
        assert_eq!(field_names(&claimed["lease"]), sorted_words("fence expires_at heartbeat ttl"));
        assert_fields(&claimed["lease"], json!({ "heartbeat": "15s", "ttl": "1m" }));
        // The earlier of both: the second missed heartbeat comes before the end of the lease.
        assert_eq!(millis(&claimed["lease"]["expires_at"]) - millis(&claimed["claimed_at"]), 30_000);
        assert_eq!(claimed["payload"], json!({ "n": 1 }));
        assert_eq!(server.claim(json!({ "worker": "w2", "max": 5 })).await, Vec::<Value>::new());
        let shown = server.job(&job).await;
        assert_eq!(field_names(&shown["lease"]), ["expires_at", "fence"]);
    });
}

#[test]
fn jobs_are_claimed_by_priority_then_time_then_age() {
    on_both_stores(async |server| {
        let jobs: Vec<Value> = [
            ("fifth", 0, "900ms"),
            ("sixth", 0, "900ms"),
            ("third", 0, "500ms"),
            ("never", 9, "1h"),
            ("seventh", -1, "100ms"),
            ("first", 5, "900ms"),
            ("second", 5, "901ms"),
            ("fourth", 0, "600ms"),
        ]
        .map(|(name, priority, delay)| json!({ "type": name, "priority": priority, "delay": delay }))
        .into();
        let made = server.post("/api/jobs/batch", &json!({ "jobs": jobs })).await.expect(200);
        let last = made["results"][6]["ok"].clone();
        eventually("all are due", async || {
            let explained = server.read(&path(&last, "explain")).await;
            explained["waiting_for"][0]["what"] == "worker"
        })
        .await;
        let mut order = Vec::new();
        for _ in 0..7 {
            order.extend(server.claim(json!({ "worker": "w", "max": 1 })).await);
        }
        assert_eq!(types(&order), ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"]);
        assert!(server.claim(json!({ "worker": "w", "max": 1 })).await.is_empty());
    });
}

#[test]
fn a_claim_returns_only_the_named_types_and_queues() {
    on_both_stores(async |server| {
        for (kind, queue) in [("a", "day"), ("b", "day"), ("a", "night"), ("b", "night")] {
            server.create(json!({ "type": kind, "queue": queue })).await;
        }
        let claim = async |more: Value| {
            let mut body = json!({ "worker": "w", "max": 10 });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let jobs = server.claim(body).await;
            jobs.iter()
                .map(|job| format!("{}@{}", job["type"], job["queue"]).replace('"', ""))
                .collect::<Vec<_>>()
        };
        assert_eq!(claim(json!({ "types": ["c"] })).await, Vec::<String>::new());
        assert_eq!(claim(json!({ "types": ["a"], "queues": ["night"] })).await, ["a@night"]);
        assert_eq!(claim(json!({ "types": ["b", "c"], "queues": ["day", "dusk"] })).await, ["b@day"]);
        assert_eq!(claim(json!({ "queues": ["day"] })).await, ["a@day"]);
        assert_eq!(claim(json!({})).await, ["b@night"]);
        for bad in [json!({ "max": 0 }), json!({ "max": 1001 }), json!({ "wait": 20 }), json!({ "slots": 1 })]
        {
            let mut body = json!({ "worker": "w", "max": 1 });
            body.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
            server.post("/api/claims", &body).await.problem(400, "malformed");
        }
    });
}

#[test]
fn a_paused_queue_gives_no_jobs_until_resumed() {
    on_both_stores(async |server| {
        server.create(json!({ "type": "a", "queue": "night" })).await;
        let paused = server.post("/api/queues/night/pause", &json!({})).await.expect(200);
        assert_eq!(paused, json!({ "name": "night", "paused": true }));
        assert!(server.claim(json!({ "worker": "w", "max": 1 })).await.is_empty());
        let wait = server.claim(json!({ "worker": "w", "max": 1, "wait": "15s" }));
        let resume = async {
            eventually("the worker waits", async || {
                let explained = server.read("/api/queues").await;
                rows(&explained["queues"]).iter().any(|queue| queue["paused"] == true)
            })
            .await;
            server.post("/api/queues/night/resume", &json!({})).await.expect(200)
        };
        let (jobs, resumed) = tokio::join!(wait, resume);
        assert_eq!(resumed, json!({ "name": "night", "paused": false }));
        assert_eq!(types(&jobs), ["a"]);
    });
}

#[test]
fn a_long_poll_returns_new_work_or_nothing_at_its_deadline() {
    on_both_stores(async |server| {
        let began = Instant::now();
        assert!(server.claim(json!({ "worker": "w", "max": 1, "wait": "300ms" })).await.is_empty());
        assert!(began.elapsed() >= Duration::from_millis(300));
        let wait = server.claim(json!({ "worker": "w", "max": 3, "wait": "15s", "types": ["a"] }));
        let create = async {
            server.create(json!({ "type": "b" })).await;
            server.create(json!({ "type": "a" })).await;
            Instant::now()
        };
        let (jobs, created) = tokio::join!(wait, create);
        assert_eq!(types(&jobs), ["a"]);
        assert!(created.elapsed() < Duration::from_secs(5), "it woke at once");
        // A delayed job that becomes ready wakes a waiting claim.
        server.create(json!({ "type": "soon", "delay": "500ms" })).await;
        let jobs = server.claim(json!({ "worker": "w", "max": 1, "wait": "15s", "types": ["soon"] })).await;
        assert_eq!(types(&jobs), ["soon"]);
        assert!(jobs[0]["claimed_at"].as_str() >= jobs[0]["run_at"].as_str());
    });
}

#[test]
fn a_repeated_claim_returns_the_same_live_leases() {
    on_both_stores(async |server| {
        for kind in ["a", "b", "c"] {
            server.create(json!({ "type": kind })).await;
        }
        let first = server.claim(json!({ "worker": "w", "max": 2, "request_id": "r1" })).await;
        assert_eq!(types(&first), ["a", "b"]);
        let again =
            server.claim(json!({ "worker": "w", "max": 9, "request_id": "r1", "types": ["c"] })).await;
        assert_eq!(types(&again), ["a", "b"], "whatever else the repeat asks");
        for (job, repeat) in first.iter().zip(&again) {
            assert_eq!((&job["id"], &job["lease"]["fence"]), (&repeat["id"], &repeat["lease"]["fence"]));
            assert_eq!(job["seq"], repeat["seq"]);
        }
        server.report(&first[0], "release", json!({ "delay": "1h" })).await.expect(200);
        let again = server.claim(json!({ "worker": "w", "max": 2, "request_id": "r1" })).await;
        assert_eq!(types(&again), ["b"]);
        let other = server.claim(json!({ "worker": "v", "max": 2, "request_id": "r1" })).await;
        assert_eq!(types(&other), ["c"], "another worker's request is another");
    });
}

#[test]
fn a_claim_can_start_jobs_if_the_lifecycle_has_a_start() {
    on_both_stores_with_config(QUICK, async |server| {
        server.create(json!({ "type": "a" })).await;
        server.create(json!({ "type": "pattern" })).await;
        let jobs = server.claim(json!({ "worker": "w", "max": 9, "start": true })).await;
        let states: Vec<&Value> = jobs.iter().map(|job| &job["state"]).collect();
        assert_eq!(states, ["running", "processing"]);
        let events = server.read(&path(&jobs[0], "events")).await;
        assert_eq!(column(&events["events"], "trigger"), ["create", "claim", "start"]);
        assert!(jobs.iter().all(|job| job["started_at"].is_string()));
    });
}

#[test]
fn every_job_goes_to_one_worker() {
    const WORKERS: usize = 8;
    const JOBS: usize = 400;
    on_both_stores(async |server| {
        let nodes = server.with_second_node().await;
        let mut workers = tokio::task::JoinSet::new();
        for worker in 0..WORKERS {
            let node = Arc::clone(&nodes[worker % nodes.len()]);
            workers.spawn(async move {
                let (name, mut ids) = (format!("w{worker}"), Vec::new());
                loop {
                    let claim = json!({ "worker": name, "max": 7, "start": true, "wait": "2s" });
                    let jobs = node.claim(claim).await;
                    if jobs.is_empty() {
                        return ids;
                    }
                    let reports: Vec<Value> = jobs
                        .iter()
                        .map(|job| json!({ "job": job["id"], "fence": job["lease"]["fence"], "verb": "succeed" }))
                        .collect();
                    let body = json!({ "worker": name, "reports": reports });
                    let answer = node.post("/api/reports", &body).await.expect(200);
                    let done = column(&answer["results"], "ok");
                    assert!(done.iter().all(|job| job["state"] == "succeeded"), "{answer}");
                    ids.extend(jobs.iter().map(|job| job["id"].to_string()));
                }
            });
        }
        for part in 0..4 {
            let jobs = json!({ "jobs": vec![json!({ "type": "a" }); JOBS / 4] });
            nodes[part % nodes.len()].post("/api/jobs/batch", &jobs).await.expect(200);
        }
        let claimed = workers.join_all().await.concat();
        let different: BTreeSet<&String> = claimed.iter().collect();
        assert_eq!((claimed.len(), different.len()), (JOBS, JOBS));
    });
}

#[test]
fn each_job_wakes_one_waiting_claim() {
    const CLAIMS: usize = 20;
    on_both_stores(async |server| {
        let nodes = server.with_second_node().await;
        let began = Instant::now();
        let mut claims = tokio::task::JoinSet::new();
        for claim in 0..CLAIMS {
            let node = Arc::clone(&nodes[claim % nodes.len()]);
            let body = json!({ "worker": format!("w{claim}"), "max": 1, "wait": "30s" });
            claims.spawn(async move { node.claim(body).await.len() });
        }
        let jobs = json!({ "jobs": vec![json!({ "type": "a" }); CLAIMS] });
        nodes[0].post("/api/jobs/batch", &jobs).await.expect(200);
        assert_eq!(claims.join_all().await, [1; CLAIMS]);
        assert!(began.elapsed() < Duration::from_secs(15), "they were woken, {:?}", began.elapsed());
    });
}

#[test]
fn an_abandoned_claim_takes_no_job() {
    on_both_stores(async |server| {
        server.post("/api/queues/q/pause", &json!({})).await.expect(200);
        let job = server.create(json!({ "type": "a", "queue": "q" })).await;
        let explain = format!("/api/jobs/{}/explain", job["id"].as_str().unwrap());
        let is_awaited = async || {
            let explained = server.read(&explain).await;
            !column(&explained["waiting_for"], "what").contains(&json!("worker"))
        };
        let body = json!({ "worker": "gone", "queues": ["q"], "max": 1, "wait": "60s" }).to_string();
        let head = format!(
            "POST /api/claims HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut socket = tokio::net::TcpStream::connect(server.address()).await.unwrap();
        socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        eventually("its claim waits", is_awaited).await;
        socket.shutdown().await.unwrap();
        drop(socket);
        eventually("its claim waits no more", async || !is_awaited().await).await;
        server.post("/api/queues/q/resume", &json!({})).await.expect(200);
        let jobs = server.claim(json!({ "worker": "w1", "max": 1, "wait": "10s" })).await;
        assert_eq!(types(&jobs), ["a"], "{:?}", server.get("/api/jobs").await.text);
    });
}

#[test]
fn concurrent_identical_claims_get_the_same_job() {
    on_both_stores(async |server| {
        let body = json!({ "worker": "w", "max": 1, "wait": "10s", "request_id": "r" });
        let (one, two) = (server.claim(body.clone()), server.claim(body));
        let create = async {
            for _ in 0..2 {
                server.create(json!({ "type": "a" })).await;
            }
        };
        let (one, two, ()) = tokio::join!(one, two, create);
        assert_eq!((one.len(), two.len()), (1, 1));
        assert_eq!(one[0]["id"], two[0]["id"]);
        assert_eq!(rows(&server.read("/api/jobs?phase=ready").await["jobs"]).len(), 1);
    });
}
