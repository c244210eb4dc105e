//! The calls of workers: claims, every verb, reports by the batch, on both stores.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_e2e::{
    Server, Store, assert_fields, column, eventually, field_names, find, millis, on_both_stores,
    on_both_stores_with_config, path, rows, sorted_words,
};
use tokio::io::AsyncWriteExt as _;

use crate::jobs::JOB;

/// A retry comes at once, a lease is short.
const QUICK: &str = include_str!("fixtures/workers.toml");

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
        let taken = &jobs[0];
        let all = format!("{JOB} traceparent");
        assert_eq!(field_names(taken), sorted_words(&all));
        assert_fields(&taken, json!({ "id": job["id"], "state": "assigned", "worker": "w1", "attempt": 1 }));
        assert_eq!(field_names(&taken["lease"]), sorted_words("fence expires_at heartbeat ttl"));
        assert_fields(&taken["lease"], json!({ "heartbeat": "15s", "ttl": "1m" }));
        // One expiry: here the second missed heartbeat comes before the end of the lease.
        assert_eq!(millis(&taken["lease"]["expires_at"]) - millis(&taken["claimed_at"]), 30_000);
        assert_eq!(taken["payload"], json!({ "n": 1 }));
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
        // A job whose time comes while a claim waits is handed out by the clock.
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
fn a_job_runs_from_start_to_success() {
    on_both_stores(async |server| {
        server.create(json!({ "type": "a" })).await;
        let held = server.claim(json!({ "worker": "w1", "max": 1 })).await.remove(0);
        let early = server.report(&held, "succeed", json!({})).await.problem(409, "invalid_transition");
        assert_fields(&early, json!({ "current_state": "assigned", "trigger": "succeed" }));
        assert!(rows(&early["allowed"]).contains(&json!("lease_expired")), "{early}");
        let running = server.report(&held, "start", json!({})).await.expect(200);
        assert_eq!(field_names(&running), sorted_words(JOB));
        assert_fields(&running, json!({ "state": "running", "phase": "active" }));
        let beat = server.report(&held, "heartbeat", json!({})).await.expect(200);
        assert_eq!(beat["cancel"], Value::Null);
        assert_eq!(field_names(&beat["lease"]), sorted_words("fence expires_at heartbeat ttl"));
        let half = json!({ "progress": 40.5, "message": "nearly" });
        let shown = server.report(&held, "progress", half).await.expect(200);
        assert_fields(&shown, json!({ "progress": 40.5, "progress_message": "nearly" }));
        for bad in
            [json!({ "progress": 100.1 }), json!({ "progress": -1 }), json!({}), json!({ "progress": "1" })]
        {
            server.report(&held, "progress", bad).await.problem(400, "malformed");
        }
        let over = server.report(&held, "succeed", json!({ "result": { "url": "x" } })).await.expect(200);
        assert_eq!(field_names(&over), sorted_words(JOB));
        assert_eq!((&over["state"], &over["outcome"]), (&json!("succeeded"), &json!("succeeded")));
        assert_eq!((&over["progress"], &over["result"]), (&json!(100), &json!({ "url": "x" })));
        assert_eq!((&over["lease"], &over["worker"]), (&Value::Null, &json!("w1")));
        assert!(over["completed_at"].is_string() && over["duration_ms"].is_u64() && over["run_ms"].is_u64());
        assert_eq!(field_names(&over["entered"]), sorted_words("queued assigned running succeeded"));
        let again = server.report(&held, "succeed", json!({ "result": { "url": "x" } })).await;
        let again = again.expect_replay();
        assert_fields(&again, json!({ "replayed": true, "seq": over["seq"] }));
        let late = server.report(&held, "progress", json!({ "progress": 5 })).await.expect(200);
        assert_fields(&late, json!({ "ignored": true, "progress": 100 }));
        server.report(&held, "heartbeat", json!({})).await.problem(409, "lease_conflict");
    });
}

#[test]
fn a_failure_is_retried_until_no_attempt_is_left() {
    on_both_stores_with_config(QUICK, async |server| {
        let job = server.create(json!({ "type": "quick", "max_attempts": 2 })).await;
        let taken = server.claim_one().await;
        let error = json!({ "code": "E42", "message": "no luck", "stage": "exec", "details": { "n": 1 } });
        let queued = server.report(&taken, "fail", json!({ "error": error })).await.expect(200);
        assert_fields(&queued, json!({ "state": "queued", "attempt": 2, "retry_count": 1, "worker": null }));
        let kept = &queued["error"];
        assert_eq!((&kept["code"], &kept["text"]), (&json!("E42"), &json!("E42: no luck")));
        assert_eq!((&kept["category"], &kept["class"]), (&json!("engine"), &json!("transient")));
        assert_eq!((&kept["stage"], &kept["details"]), (&json!("exec"), &json!({ "n": 1 })));
        let again =
            server.claim(json!({ "worker": "w1", "max": 1, "wait": "10s", "start": true })).await.remove(0);
        assert!(again["lease"]["fence"].as_u64() > taken["lease"]["fence"].as_u64());
        // Of the ended lease: the verb that ended it is a repeat, any other is refused.
        let repeat = server.report(&taken, "fail", json!({ "error": error })).await.expect(200);
        assert_eq!(repeat["replayed"], true);
        let old = server.report(&taken, "succeed", json!({})).await.problem(409, "lease_conflict");
        assert_eq!(old["cause"], "superseded");
        let over = server.report(&again, "fail", json!({ "error": error })).await.expect(200);
        assert_fields(&over, json!({ "state": "dead_lettered", "retry_count": 2 }));
        assert_eq!(server.job(&job).await["outcome"], "dead");
        // A permanent one is not retried.
        server.create(json!({ "type": "quick" })).await;
        let taken = server.claim_one().await;
        let over =
            server.report(&taken, "fail", json!({ "error": { "class": "permanent" } })).await.expect(200);
        assert_eq!((&over["state"], &over["error"]["class"]), (&json!("failed"), &json!("permanent")));
    });
}

#[test]
fn a_failure_can_set_the_time_of_the_retry() {
    on_both_stores(async |server| {
        server.create(json!({ "type": "a" })).await;
        let taken = server.claim_one().await;
        let queued =
            server.report(&taken, "fail", json!({ "error": {}, "retry_after": "1h" })).await.expect(200);
        let (run_at, now) = (queued["run_at"].as_str().unwrap(), queued["updated_at"].as_str().unwrap());
        assert_eq!(run_at[14..], now[14..], "an hour later: {run_at} {now}");
        assert!(run_at > now);
        assert!(server.claim(json!({ "worker": "w1", "max": 1 })).await.is_empty());
    });
}

#[test]
fn a_release_returns_the_job_with_a_checkpoint() {
    on_both_stores(async |server| {
        server.create(json!({ "type": "a" })).await;
        let taken = server.claim_one().await;
        let back = server.report(&taken, "release", json!({ "checkpoint": { "page": 7 } })).await.expect(200);
        assert_eq!((&back["state"], &back["attempt"]), (&json!("queued"), &json!(2)));
        assert_eq!((&back["retry_count"], &back["checkpoint"]), (&json!(0), &json!({ "page": 7 })));
        let again = server.claim_one().await;
        assert_eq!(again["checkpoint"], json!({ "page": 7 }));
        let back = server.report(&again, "release", json!({ "delay": "1h" })).await.expect(200);
        assert!(back["run_at"].as_str() > back["updated_at"].as_str());
    });
}

#[test]
fn a_job_can_succeed_partially_or_be_rejected() {
    on_both_stores_with_config(QUICK, async |server| {
        server.create(json!({ "type": "pattern" })).await;
        let taken = server.claim_one().await;
        let half = json!({ "result": [1], "error": { "code": "HALF", "message": "two of three" } });
        let over = server.report(&taken, "partial", half).await.expect(200);
        assert_fields(&over, json!({ "state": "partial", "outcome": "partial" }));
        assert_eq!((&over["result"], &over["error"]["code"]), (&json!([1]), &json!("HALF")));
        server.create(json!({ "type": "image", "user_id": "u" })).await;
        let taken = server.claim_one().await;
        let over = server.report(&taken, "reject", json!({ "reason": "nude" })).await.expect(200);
        assert_fields(&over, json!({ "state": "rejected", "outcome": "rejected" }));
        // Nobody holds it: then it is an operator's, without worker and fence.
        let job =
            server.create(json!({ "type": "image", "user_id": "u", "payload": { "prompt": "b" } })).await;
        let over = server.call(&job, "reject", &json!({ "reason": "blocked" })).await.expect(200);
        assert_eq!(over["state"], "rejected");
        let audit = server.read("/api/audit").await;
        let blocks = column(&audit["audit"], "action").into_iter().filter(|action| action == "SAFE_BLOCK");
        assert_eq!(blocks.count(), 2);
        let plain = server.create(json!({ "type": "a" })).await;
        server.call(&plain, "reject", &json!({ "reason": "x" })).await.problem(409, "invalid_transition");
    });
}

#[test]
fn only_the_holder_of_the_live_lease_can_report() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let none = server.call(&job, "start", &json!({ "worker": "w1", "fence": 1 })).await;
        none.problem(409, "invalid_transition");
        let taken = server.claim_one().await;
        let fence = taken["lease"]["fence"].as_u64().unwrap();
        let say = async |worker: &str, fence: u64| {
            server.call(&job, "succeed", &json!({ "worker": worker, "fence": fence })).await
        };
        let other = say("w2", fence).await.problem(409, "lease_conflict");
        assert_fields(&other, json!({ "cause": "wrong_worker", "fence": fence }));
        say("w1", fence + 7).await.problem(409, "lease_conflict");
        let body = json!({ "worker": "w2", "fence": fence, "progress": 1 });
        server.call(&job, "progress", &body).await.problem(409, "lease_conflict");
        server.call(&job, "succeed", &json!({ "worker": "w1" })).await.problem(400, "malformed");
        server.call(&job, "succeed", &json!({ "fence": fence })).await.problem(400, "malformed");
        assert_eq!(server.job(&job).await["seq"], 3, "nothing of this changed anything");
    });
}

#[test]
fn an_expired_lease_is_lost() {
    on_both_stores_with_config(QUICK, async |server| {
        let job = server.create(json!({ "type": "quick" })).await;
        let taken = server.claim_one().await;
        eventually("the lease is lost", async || server.job(&job).await["state"] == "queued").await;
        let queued = server.job(&job).await;
        let code = queued["error"]["code"].as_str().unwrap();
        assert!(["LEASE_EXPIRED", "HEARTBEAT_LOST"].contains(&code), "{code}");
        assert_eq!((&queued["error"]["category"], &queued["attempt"]), (&json!("system"), &json!(2)));
        let late = server.report(&taken, "succeed", json!({})).await.problem(409, "lease_conflict");
        assert_eq!(late["cause"], "lost");
        let events = server.read(&path(&job, "events")).await;
        assert_eq!(events["events"][3]["trigger"], "lease_expired");
    });
}

#[test]
fn heartbeats_renew_a_short_lease() {
    on_both_stores_with_config(QUICK, async |server| {
        let job = server.create(json!({ "type": "quick" })).await;
        let taken = server.claim_one().await;
        let began = Instant::now();
        let mut ticks = tokio::time::interval(Duration::from_millis(200));
        while began.elapsed() < Duration::from_millis(2500) {
            ticks.tick().await;
            server.report(&taken, "heartbeat", json!({})).await.expect(200);
        }
        server.succeed(&taken).await;
        let rows = server.read(&path(&job, "events?telemetry=true")).await;
        let kinds = column(&rows["events"], "type");
        assert!(kinds.contains(&json!("job_lease_renewed")), "{kinds:?}");
        assert!(kinds.contains(&json!("job_heartbeat")), "{kinds:?}");
        let renewed = kinds.iter().filter(|kind| **kind == "job_lease_renewed").count();
        let metrics = server.get("/metrics").await.text;
        assert!(metrics.contains(&format!("tenure_lease_renewals_total {renewed}\n")), "{renewed} {metrics}");
    });
}

#[test]
fn a_batch_of_reports_is_answered_item_by_item() {
    on_both_stores(async |server| {
        for _ in 0..4 {
            server.create(json!({ "type": "a" })).await;
        }
        let jobs = server.claim(json!({ "worker": "w1", "max": 4, "start": true })).await;
        let fence = |index: usize| jobs[index]["lease"]["fence"].clone();
        let id = |index: usize| jobs[index]["id"].clone();
        let reports = json!({ "worker": "w1", "reports": [
            { "job": id(0), "fence": fence(0), "verb": "succeed", "result": 1 },
            { "job": id(1), "fence": 99, "verb": "succeed" },
            { "job": id(1), "fence": fence(1), "verb": "heartbeat" },
            { "job": id(2), "fence": fence(2), "verb": "progress", "progress": 7 },
            { "job": "nobody", "fence": 1, "verb": "succeed" },
            { "job": id(3), "fence": fence(3), "verb": "dance" },
            { "job": id(3), "fence": fence(3), "verb": "fail", "error": { "class": "permanent" } },
            { "job": "01990c3a-7d2e-7000-8000-000000000000", "fence": 1, "verb": "succeed" },
            { "job": id(0), "fence": fence(0), "verb": "succeed", "result": 1 },
        ] });
        let answer = server.post("/api/reports", &reports).await.expect(200);
        assert_eq!(field_names(&answer), ["results"]);
        let results = rows(&answer["results"]);
        assert_eq!(results.len(), 9);
        assert_eq!(results[0]["ok"]["state"], "succeeded");
        assert_eq!(results[1]["error"]["code"], "lease_conflict");
        assert_eq!(field_names(&results[2]["ok"]), ["cancel", "lease"]);
        assert_eq!(results[3]["ok"]["progress"], 7.0);
        assert_eq!(results[4]["error"]["code"], "malformed");
        assert_eq!(results[5]["error"]["code"], "malformed");
        assert_eq!(results[6]["ok"]["state"], "failed");
        assert_eq!(results[7]["error"]["code"], "not_found");
        assert_eq!(results[8]["ok"]["replayed"], true);
        let many = json!({ "worker": "w1", "reports": vec![json!({}); 10_001] });
        server.post("/api/reports", &many).await.problem(400, "malformed");
    });
}

#[test]
fn a_workers_report_is_idempotent_with_a_key() {
    on_both_stores(async |server| {
        server.create(json!({ "type": "a" })).await;
        let held = server.claim(json!({ "worker": "w1", "max": 1 })).await.remove(0);
        let start = async || {
            let body = json!({ "worker": "w1", "fence": held["lease"]["fence"] });
            server.request("POST", &path(&held, "start")).idempotent("s").json(&body).send().await
        };
        let first = start().await.expect(200);
        let again = start().await;
        let again = again.expect_replay();
        assert_fields(&again, json!({ "replayed": true, "seq": first["seq"] }));
        server.report(&held, "start", json!({})).await.problem(409, "invalid_transition");
    });
}

#[test]
fn workers_are_listed_with_what_they_hold() {
    on_both_stores(async |server: Server| {
        assert_eq!(server.read("/api/workers").await["workers"], json!([]));
        let job = server.create(json!({ "type": "a" })).await;
        server.claim(json!({ "worker": "idle", "max": 1, "types": ["none"] })).await;
        let taken = server.claim_one().await;
        let page = server.read("/api/workers").await;
        assert_eq!(field_names(&page), ["next_cursor", "workers"]);
        let workers = rows(&page["workers"]);
        let find = |name: &str| workers.iter().find(|row| row["name"] == name).cloned().expect("it was seen");
        assert!(find("idle")["seen_at"].is_string() && find("w1")["seen_at"].is_string());
        assert_eq!(find("idle")["holds"], json!([]));
        let held = &find("w1")["holds"][0];
        assert_fields(&held, json!({ "job_id": job["id"], "fence": taken["lease"]["fence"] }));
        server.succeed(&taken).await;
        let page = server.read("/api/workers").await;
        assert!(column(&page["workers"], "holds").iter().all(|holds| *holds == json!([])));
    });
}

#[test]
fn every_job_goes_to_one_worker() {
    const WORKERS: usize = 8;
    const JOBS: usize = 400;
    on_both_stores(async |server| {
        let server = Arc::new(server);
        let mut nodes = vec![Arc::clone(&server)];
        if server.store() == Store::Postgres {
            nodes.push(Arc::new(server.second_node().await));
        }
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
        let mut taken = Vec::new();
        while let Some(ids) = workers.join_next().await {
            taken.extend(ids.expect("a worker does not fail"));
        }
        let different: BTreeSet<&String> = taken.iter().collect();
        assert_eq!((taken.len(), different.len()), (JOBS, JOBS));
    });
}

#[test]
fn each_job_wakes_one_waiting_claim() {
    const CLAIMS: usize = 20;
    on_both_stores(async |server| {
        let server = Arc::new(server);
        let mut nodes = vec![Arc::clone(&server)];
        if server.store() == Store::Postgres {
            nodes.push(Arc::new(server.second_node().await));
        }
        let began = Instant::now();
        let mut claims = tokio::task::JoinSet::new();
        for claim in 0..CLAIMS {
            let node = Arc::clone(&nodes[claim % nodes.len()]);
            let body = json!({ "worker": format!("w{claim}"), "max": 1, "wait": "30s" });
            claims.spawn(async move { node.claim(body).await.len() });
        }
        let jobs = json!({ "jobs": vec![json!({ "type": "a" }); CLAIMS] });
        server.post("/api/jobs/batch", &jobs).await.expect(200);
        let mut got = Vec::new();
        while let Some(count) = claims.join_next().await {
            got.push(count.unwrap());
        }
        assert_eq!(got, [1; CLAIMS]);
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
