//! Claims.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_e2e::*;
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
        assert_field_names(claimed, &format!("{JOB} traceparent"));
        assert_fields(claimed, json!({ "id": job["id"], "state": "assigned", "worker": "w1", "attempt": 1 }));
        assert_field_names(&claimed["lease"], "fence expires_at heartbeat ttl");
        assert_fields(&claimed["lease"], json!({ "heartbeat": "15s", "ttl": "1m" }));
        // The earlier of both: the second missed heartbeat comes before the end of the lease.
        assert_eq!(millis(&claimed["lease"]["expires_at"]) - millis(&claimed["claimed_at"]), 30_000);
        assert_eq!(claimed["payload"], json!({ "n": 1 }));
        assert_eq!(server.claim(json!({ "worker": "w2", "max": 5 })).await, Vec::<Value>::new());
        assert_eq!(field_names(&server.job(&job).await["lease"]), ["expires_at", "fence"]);
    });
}

#[test]
fn jobs_are_claimed_by_priority_then_time_then_age() {
    on_both_stores(async |server| {
        let made = server.post_text("/api/jobs/batch", include_str!("order.json")).await.expect(200);
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
            let jobs = server.claim(merged(json!({ "worker": "w", "max": 10 }), &more)).await;
            let name = |job: &Value| format!("{}@{}", job["type"], job["queue"]).replace('"', "");
            jobs.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(claim(json!({ "types": ["c"] })).await, Vec::<String>::new());
        assert_eq!(claim(json!({ "types": ["a"], "queues": ["night"] })).await, ["a@night"]);
        assert_eq!(claim(json!({ "types": ["b", "c"], "queues": ["day", "dusk"] })).await, ["b@day"]);
        assert_eq!(claim(json!({ "queues": ["day"] })).await, ["a@day"]);
        assert_eq!(claim(json!({})).await, ["b@night"]);
        for (field, bad) in [("max", 0), ("max", 1001), ("wait", 20), ("slots", 1)] {
            let body = merged(json!({ "worker": "w", "max": 1 }), &json!({ (field): bad }));
            server.post("/api/claims", &body).await.problem(400, "malformed");
        }
    });
}

#[test]
fn a_paused_queue_gives_no_jobs_until_resumed() {
    on_both_stores(async |server| {
        server.create(json!({ "type": "a", "queue": "night" })).await;
        let paused = server.post_ok("/api/queues/night/pause", &json!({})).await;
        assert_eq!(paused, json!({ "name": "night", "paused": true }));
        assert!(server.claim(json!({ "worker": "w", "max": 1 })).await.is_empty());
        let wait = server.claim(json!({ "worker": "w", "max": 1, "wait": "15s" }));
        let resume = async {
            let paused = async || server.column("/api/queues", "paused").await.contains(&json!(true));
            eventually("the worker waits", paused).await;
            server.post_ok("/api/queues/night/resume", &json!({})).await
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
        let repeat = json!({ "worker": "w", "max": 9, "request_id": "r1", "types": ["c"] });
        let again = server.claim(repeat).await;
        assert_eq!(types(&again), ["a", "b"], "whatever else the repeat asks");
        for (job, repeat) in first.iter().zip(&again) {
            assert_eq!((&job["id"], &job["lease"]["fence"]), (&repeat["id"], &repeat["lease"]["fence"]));
            assert_eq!(job["seq"], repeat["seq"]);
        }
        server.report_ok(&first[0], "release", json!({ "delay": "1h" })).await;
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
        assert_eq!(column(&json!(jobs), "state"), ["running", "processing"]);
        let triggers = server.column(&path(&jobs[0], "events"), "trigger").await;
        assert_eq!(triggers, ["create", "claim", "start"]);
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
                    let report = |job: &Value| {
                        json!({ "job": job["id"], "fence": job["lease"]["fence"], "verb": "succeed" })
                    };
                    let reports: Vec<Value> = jobs.iter().map(report).collect();
                    let body = json!({ "worker": name, "reports": reports });
                    let answer = node.post_ok("/api/reports", &body).await;
                    let done = column(&answer["results"], "ok");
                    assert!(done.iter().all(|job| job["state"] == "succeeded"), "{answer}");
                    ids.extend(jobs.iter().map(|job| job["id"].to_string()));
                }
            });
        }
        for part in 0..4 {
            nodes[part % nodes.len()].create_many(JOBS / 4, json!({ "type": "a" })).await;
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
        nodes[0].create_many(CLAIMS, json!({ "type": "a" })).await;
        assert_eq!(claims.join_all().await, [1; CLAIMS]);
        assert!(began.elapsed() < Duration::from_secs(15), "they were woken, {:?}", began.elapsed());
    });
}

#[test]
fn an_abandoned_claim_takes_no_job() {
    on_both_stores(async |server| {
        server.post_ok("/api/queues/q/pause", &json!({})).await;
        let job = server.create(json!({ "type": "a", "queue": "q" })).await;
        let explain = format!("/api/jobs/{}/explain", id(&job));
        let is_awaited = async || {
            let explanation = server.read(&explain).await;
            !column(&explanation["waiting_for"], "what").contains(&json!("worker"))
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
        server.post_ok("/api/queues/q/resume", &json!({})).await;
        let jobs = server.claim(json!({ "worker": "w1", "max": 1, "wait": "10s" })).await;
        assert_eq!(types(&jobs), ["a"], "{:?}", server.get("/api/jobs").await.text);
    });
}

#[test]
fn concurrent_identical_claims_get_the_same_job() {
    on_both_stores(async |server| {
        let body = json!({ "worker": "w", "max": 1, "wait": "10s", "request_id": "r" });
        let (one, two) = (server.claim(body.clone()), server.claim(body));
        let (one, two, _) = tokio::join!(one, two, server.create_many(2, json!({ "type": "a" })));
        assert_eq!((one.len(), two.len()), (1, 1));
        assert_eq!(one[0]["id"], two[0]["id"]);
        assert_eq!(server.rows("/api/jobs?phase=ready").await.len(), 1);
    });
}
