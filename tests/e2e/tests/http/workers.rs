//! The calls of workers.

mod claims;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_e2e::*;

use crate::jobs::JOB;

/// Types with immediate retries and short leases.
const QUICK: &str = include_str!("fixtures/workers.toml");

#[test]
fn a_job_runs_from_start_to_success() {
    on_both_stores(async |server| {
        server.create(json!({ "type": "a" })).await;
        let held = server.hold_one().await;
        let early = server.report(&held, "succeed", json!({})).await.problem(409, "invalid_transition");
        assert_fields(&early, json!({ "current_state": "assigned", "trigger": "succeed" }));
        assert!(rows(&early["allowed"]).contains(&json!("lease_expired")), "{early}");
        let running = server.report_ok(&held, "start", json!({})).await;
        assert_field_names(&running, JOB);
        assert_fields(&running, json!({ "state": "running", "phase": "active" }));
        let heartbeat = server.report_ok(&held, "heartbeat", json!({})).await;
        assert_eq!(heartbeat["cancel"], Value::Null);
        assert_field_names(&heartbeat["lease"], "fence expires_at heartbeat ttl");
        let half = json!({ "progress": 40.5, "message": "nearly" });
        let shown = server.report_ok(&held, "progress", half).await;
        assert_fields(&shown, json!({ "progress": 40.5, "progress_message": "nearly" }));
        server.report(&held, "progress", json!({})).await.problem(400, "malformed");
        for bad in [json!(100.1), json!(-1), json!("1")] {
            server.report(&held, "progress", json!({ "progress": bad })).await.problem(400, "malformed");
        }
        let finished = server.report_ok(&held, "succeed", json!({ "result": { "url": "x" } })).await;
        assert_field_names(&finished, JOB);
        assert_fields(&finished, json!({ "state": "succeeded", "outcome": "succeeded", "progress": 100 }));
        assert_fields(&finished, json!({ "result": { "url": "x" }, "lease": null, "worker": "w1" }));
        assert!(finished["completed_at"].is_string());
        assert!(finished["duration_ms"].is_u64() && finished["run_ms"].is_u64());
        assert_field_names(&finished["entered"], "queued assigned running succeeded");
        let again = server.report(&held, "succeed", json!({ "result": { "url": "x" } })).await;
        assert_fields(&again.expect_replay(), json!({ "replayed": true, "seq": finished["seq"] }));
        let late = server.report_ok(&held, "progress", json!({ "progress": 5 })).await;
        assert_fields(&late, json!({ "ignored": true, "progress": 100 }));
        server.report(&held, "heartbeat", json!({})).await.problem(409, "lease_conflict");
    });
}

#[test]
fn a_failure_is_retried_until_no_attempt_is_left() {
    on_both_stores_with_config(QUICK, async |server| {
        let claimed = server.create_claimed(json!({ "type": "quick", "max_attempts": 2 })).await;
        let error = json!({ "code": "E42", "message": "no luck", "stage": "exec", "details": { "n": 1 } });
        let queued = server.report_ok(&claimed, "fail", json!({ "error": error })).await;
        assert_fields(&queued, json!({ "state": "queued", "attempt": 2, "retry_count": 1, "worker": null }));
        let kept = &queued["error"];
        assert_fields(kept, json!({ "code": "E42", "text": "E42: no luck", "category": "engine" }));
        assert_fields(kept, json!({ "class": "transient", "stage": "exec", "details": { "n": 1 } }));
        let again = server.claim_next().await;
        assert!(again["lease"]["fence"].as_u64() > claimed["lease"]["fence"].as_u64());
        // With the fence of the ended lease: the verb that ended it is a repeat, any other is refused.
        assert_eq!(server.report_ok(&claimed, "fail", json!({ "error": error })).await["replayed"], true);
        let old = server.report(&claimed, "succeed", json!({})).await.problem(409, "lease_conflict");
        assert_eq!(old["cause"], "superseded");
        let finished = server.report_ok(&again, "fail", json!({ "error": error })).await;
        assert_fields(&finished, json!({ "state": "dead_lettered", "retry_count": 2 }));
        assert_eq!(server.job(&claimed).await["outcome"], "dead");
        // A permanent failure is not retried.
        let claimed = server.create_claimed(json!({ "type": "quick" })).await;
        let finished = server.report_ok(&claimed, "fail", json!({ "error": { "class": "permanent" } })).await;
        assert_fields(&finished, json!({ "state": "failed", "/error/class": "permanent" }));
    });
}

#[test]
fn a_failure_can_set_the_time_of_the_retry() {
    on_both_stores(async |server| {
        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        let queued = server.report_ok(&claimed, "fail", json!({ "error": {}, "retry_after": "1h" })).await;
        let (run_at, now) = (queued["run_at"].as_str().unwrap(), queued["updated_at"].as_str().unwrap());
        assert_eq!(run_at[14..], now[14..], "an hour later: {run_at} {now}");
        assert!(run_at > now);
        assert!(server.claim(json!({ "worker": "w1", "max": 1 })).await.is_empty());
    });
}

#[test]
fn a_release_returns_the_job_with_a_checkpoint() {
    on_both_stores(async |server| {
        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        let back = server.report_ok(&claimed, "release", json!({ "checkpoint": { "page": 7 } })).await;
        assert_eq!((&back["state"], &back["attempt"]), (&json!("queued"), &json!(2)));
        assert_eq!((&back["retry_count"], &back["checkpoint"]), (&json!(0), &json!({ "page": 7 })));
        let again = server.claim_one().await;
        assert_eq!(again["checkpoint"], json!({ "page": 7 }));
        let back = server.report_ok(&again, "release", json!({ "delay": "1h" })).await;
        assert!(back["run_at"].as_str() > back["updated_at"].as_str());
    });
}

#[test]
fn a_job_can_succeed_partially_or_be_rejected() {
    on_both_stores_with_config(QUICK, async |server| {
        let claimed = server.create_claimed(json!({ "type": "pattern" })).await;
        let half = json!({ "result": [1], "error": { "code": "HALF", "message": "two of three" } });
        let finished = server.report_ok(&claimed, "partial", half).await;
        assert_fields(&finished, json!({ "state": "partial", "outcome": "partial" }));
        assert_eq!((&finished["result"], &finished["error"]["code"]), (&json!([1]), &json!("HALF")));
        let claimed = server.create_claimed(json!({ "type": "image", "user_id": "u" })).await;
        let finished = server.report_ok(&claimed, "reject", json!({ "reason": "nude" })).await;
        assert_fields(&finished, json!({ "state": "rejected", "outcome": "rejected" }));
        // Without a worker, an operator can reject it, without worker and fence.
        let asked = json!({ "type": "image", "user_id": "u", "payload": { "prompt": "b" } });
        let job = server.create(asked).await;
        let finished = server.call_ok(&job, "reject", &json!({ "reason": "blocked" })).await;
        assert_eq!(finished["state"], "rejected");
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
        let fence = server.claim_one().await["lease"]["fence"].as_u64().unwrap();
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
        let claimed = server.create_claimed(json!({ "type": "quick" })).await;
        let queued = server.job_when(&claimed, "state", "queued").await;
        let code = queued["error"]["code"].as_str().unwrap();
        assert!(["LEASE_EXPIRED", "HEARTBEAT_LOST"].contains(&code), "{code}");
        assert_fields(&queued, json!({ "/error/category": "system", "attempt": 2 }));
        let late = server.report(&claimed, "succeed", json!({})).await.problem(409, "lease_conflict");
        assert_eq!(late["cause"], "lost");
        let events = server.read(&path(&claimed, "events")).await;
        assert_eq!(events["events"][3]["trigger"], "lease_expired");
    });
}

#[test]
fn heartbeats_renew_a_short_lease() {
    on_both_stores_with_config(QUICK, async |server| {
        let claimed = server.create_claimed(json!({ "type": "quick" })).await;
        let began = Instant::now();
        let mut ticks = tokio::time::interval(Duration::from_millis(200));
        while began.elapsed() < Duration::from_millis(2500) {
            ticks.tick().await;
            server.report_ok(&claimed, "heartbeat", json!({})).await;
        }
        server.succeed(&claimed).await;
        let kinds = server.column(&path(&claimed, "events?telemetry=true"), "type").await;
        assert!(kinds.contains(&json!("job_lease_renewed")), "{kinds:?}");
        assert!(kinds.contains(&json!("job_heartbeat")), "{kinds:?}");
        let renewed = kinds.iter().filter(|kind| **kind == "job_lease_renewed").count();
        let metrics = server.metrics_text().await;
        assert!(metrics.contains(&format!("tenure_lease_renewals_total {renewed}\n")), "{renewed} {metrics}");
    });
}

#[test]
fn a_batch_of_reports_is_answered_item_by_item() {
    on_both_stores(async |server| {
        server.create_many(4, json!({ "type": "a" })).await;
        let jobs = server.claim(json!({ "worker": "w1", "max": 4, "start": true })).await;
        let fence = |index: usize| jobs[index]["lease"]["fence"].clone();
        let id = |index: usize| jobs[index]["id"].clone();
        let reports = json!({ "worker": "w1", "reports": [
            { "job": id(0), "fence": fence(0), "verb": "succeed", "result": 1 },
            { "job": id(1), "fence": 99, "verb": "succeed" },
            { "job": id(1), "fence": fence(1), "verb": "heartbeat" },
            { "job": id(2), "fence": fence(2), "verb": "progress", "progress": 7 },
            { "job": "not-an-id", "fence": 1, "verb": "succeed" },
            { "job": id(3), "fence": fence(3), "verb": "dance" },
            { "job": id(3), "fence": fence(3), "verb": "fail", "error": { "class": "permanent" } },
            { "job": "01990c3a-7d2e-7000-8000-000000000000", "fence": 1, "verb": "succeed" },
            { "job": id(0), "fence": fence(0), "verb": "succeed", "result": 1 },
        ] });
        let answer = server.post_ok("/api/reports", &reports).await;
        assert_eq!(field_names(&answer), ["results"]);
        let results = &answer["results"];
        assert_eq!(rows(results).len(), 9);
        assert_eq!(field_names(&results[2]["ok"]), ["cancel", "lease"]);
        assert_fields(results, json!({ "/0/ok/state": "succeeded", "/1/error/code": "lease_conflict" }));
        assert_fields(results, json!({ "/3/ok/progress": 7, "/4/error/code": "malformed" }));
        assert_fields(results, json!({ "/5/error/code": "malformed", "/6/ok/state": "failed" }));
        assert_fields(results, json!({ "/7/error/code": "not_found", "/8/ok/replayed": true }));
        let many = json!({ "worker": "w1", "reports": vec![json!({}); 10_001] });
        server.post("/api/reports", &many).await.problem(400, "malformed");
    });
}

#[test]
fn a_workers_report_is_idempotent_with_a_key() {
    on_both_stores(async |server| {
        server.create(json!({ "type": "a" })).await;
        let held = server.hold_one().await;
        let body = json!({ "worker": "w1", "fence": held["lease"]["fence"] });
        let start = async || server.post_keyed("s", &path(&held, "start"), &body).await;
        let first = start().await.expect(200);
        assert_fields(&start().await.expect_replay(), json!({ "replayed": true, "seq": first["seq"] }));
        server.report(&held, "start", json!({})).await.problem(409, "invalid_transition");
    });
}

#[test]
fn workers_are_listed_with_what_they_hold() {
    on_both_stores(async |server: Server| {
        assert_eq!(server.read("/api/workers").await["workers"], json!([]));
        let job = server.create(json!({ "type": "a" })).await;
        server.claim(json!({ "worker": "idle", "max": 1, "types": ["none"] })).await;
        let claimed = server.claim_one().await;
        let page = server.read("/api/workers").await;
        assert_eq!(field_names(&page), ["next_cursor", "workers"]);
        let worker = |name: &str| find(&page["workers"], "name", name);
        assert!(worker("idle")["seen_at"].is_string() && worker("w1")["seen_at"].is_string());
        assert_eq!(worker("idle")["holds"], json!([]));
        let held = &worker("w1")["holds"][0];
        assert_fields(held, json!({ "job_id": job["id"], "fence": claimed["lease"]["fence"] }));
        server.succeed(&claimed).await;
        assert!(server.column("/api/workers", "holds").await.iter().all(|holds| *holds == json!([])));
    });
}

#[test]
fn a_worker_says_its_slots_host_and_version() {
    on_both_stores(async |server: Server| {
        for _ in 0..2 {
            server.create(json!({ "type": "a" })).await;
        }
        let claim = async |worker: &str, about: &str| {
            let claim = server.request("POST", "/api/claims").header("tenure-worker", about);
            let body = json!({ "worker": worker, "types": ["a", "b"], "max": 1, "start": true });
            claim.json(&body).send().await.expect(200)
        };
        claim("w1", "slots=8; host=\"gpu-1\"; version=\"1.2.0\"; colour=red").await;
        claim("w2", "nonsense; slots=many; host=\"\u{e4}\"").await;
        let page = server.read("/api/workers").await;
        let worker = |name: &str| find(&page["workers"], "name", name);
        let said = json!({ "slots": 8, "host": "gpu-1", "version": "1.2.0", "types": ["a", "b"], "status": "online" });
        assert_fields(worker("w1"), said);
        assert_fields(worker("w2"), json!({ "slots": null, "version": null, "status": "online" }));
        let page = server.request("GET", "/ui/workers").header("accept", "text/html").send().await.text;
        for piece in ["busy 1 of 8", "busy 1<", "gpu-1", "1.2.0", "<strong>2</strong> online"] {
            assert!(page.contains(piece), "{piece} is not in {page}");
        }
    });
}
