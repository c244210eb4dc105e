//! Actions on jobs: cancel, retry, dead letter, signals, and what happens without a worker.

use serde_json::{Value, json};
use tenure_e2e::*;

use super::{EVENT, REVIEW_FILES};
use crate::roles::create_keys;

#[test]
fn a_soft_cancel_asks_the_worker_and_a_hard_cancel_ends_the_job() {
    on_both_stores(async |server| {
        // Ready: at once.
        let job = server.create(json!({ "type": "a" })).await;
        let finished = server.request("POST", &path(&job, "cancel")).send().await.expect(200);
        assert_fields(&finished, json!({ "state": "cancelled", "outcome": "cancelled" }));
        let problem = server.call(&job, "cancel", &json!({})).await.problem(409, "invalid_transition");
        assert_fields(&problem, json!({ "current_state": "cancelled", "trigger": "cancel", "allowed": [] }));

        // Active, soft: recorded, returned by the heartbeat, confirmed by the worker.
        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        let asked = server.call_ok(&claimed, "cancel", &json!({ "reason": "enough" })).await;
        assert_eq!(asked["state"], "running");
        let request = &asked["cancel_requested"];
        assert_field_names(request, "mode reason by at hard_at");
        assert_fields(request, json!({ "mode": "soft", "reason": "enough" }));
        assert!(request["hard_at"].as_str() > request["at"].as_str());
        let heartbeat = server.report_ok(&claimed, "heartbeat", json!({})).await;
        assert_eq!(field_names(&heartbeat), ["cancel", "lease"]);
        assert_eq!(heartbeat["cancel"], "soft");
        let finished =
            server.report_ok(&claimed, "cancel-confirm", json!({ "checkpoint": { "at": 3 } })).await;
        assert_fields(&finished, json!({ "state": "cancelled", "checkpoint": { "at": 3 } }));

        // Active, soft, but the worker finishes first: the result is kept.
        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        server.call_ok(&claimed, "cancel", &json!({ "mode": "soft" })).await;
        assert_eq!(server.succeed(&claimed).await["state"], "succeeded");

        // Active, hard: now, and the lease is revoked.
        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        let finished = server.call_ok(&claimed, "cancel", &json!({ "mode": "hard" })).await;
        assert_fields(&finished, json!({ "state": "cancelled", "lease": null }));
        let late = server.report(&claimed, "succeed", json!({})).await.problem(409, "lease_conflict");
        assert_eq!((&late["cause"], &late["job_id"]), (&json!("revoked"), &claimed["id"]));
        assert_eq!(late["fence"], claimed["lease"]["fence"]);
        server.call(&claimed, "cancel", &json!({ "mode": "gentle" })).await.problem(400, "malformed");
    });
}

#[test]
fn a_soft_cancel_becomes_hard_after_its_grace_period() {
    let config = "[types.a]\nlifecycle = \"distributed\"\ncancel_grace = \"100ms\"\n";
    on_both_stores_with_config(config, async |server| {
        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        server.call_ok(&claimed, "cancel", &json!({})).await;
        let finished = server.job_when(&claimed, "state", "cancelled").await;
        assert_eq!(finished["error"]["code"], "CANCEL_GRACE_EXPIRED");
        server.report(&claimed, "succeed", json!({})).await.problem(409, "lease_conflict");
    });
}

#[test]
fn a_retry_creates_a_copy_of_the_finished_job() {
    on_both_stores(async |server| {
        let asked =
            json!({ "type": "a", "user_id": "u1", "payload": { "n": 1 }, "priority": 3, "queue": "q" });
        let waiting = server.create(asked).await;
        let problem = server.call(&waiting, "retry", &json!({})).await.problem(409, "invalid_transition");
        assert_eq!(problem["current_state"], "queued");
        let finished = server.call_ok(&waiting, "cancel", &json!({})).await;
        let ask = async || server.request("POST", &path(&finished, "retry")).idempotent("again").send().await;
        let reply = ask().await;
        let location = reply.header("location").unwrap().to_owned();
        let again = reply.expect(202);
        assert_eq!(location, path(&again, ""));
        assert_ne!(again["id"], finished["id"]);
        assert_eq!(again["retry_of"], finished["id"]);
        for field in ["type", "user_id", "payload", "priority", "queue", "lifecycle"] {
            assert_eq!(again[field], finished[field], "{field}");
        }
        assert_fields(&again, json!({ "state": "queued", "attempt": 1 }));
        assert_eq!(ask().await.expect_replay()["id"], again["id"]);
        assert_eq!(server.job(&finished).await, finished, "a finished job stays as it is");
    });
}

#[test]
fn an_operator_dead_letters_a_job() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a", "correlation_id": "c" })).await;
        let body = json!({ "reason_code": "policy_violation", "detail": "not ours" });
        let finished = server.call_ok(&job, "dead-letter", &body).await;
        assert_fields(&finished, json!({ "state": "dead_lettered", "outcome": "dead" }));
        let letters = server.rows("/api/dead-letters").await;
        assert_fields(&letters[0], json!({ "reason_code": "policy_violation", "job_id": job["id"] }));
        server.call(&job, "dead-letter", &body).await.problem(409, "invalid_transition");
        let bad = json!({ "reason_code": "boredom", "detail": "" });
        server.call(&job, "dead-letter", &bad).await.problem(400, "malformed");
    });
}

const PAYOUT_FILES: &[(&str, &str)] = &[
    ("tenure.toml", "lifecycles = [\"payout.toml\"]\n[types.payout]\nlifecycle = \"payout\"\n"),
    ("payout.toml", include_str!("../fixtures/payout.toml")),
];

#[test]
fn a_producer_does_not_approve_its_own_job() {
    on_both_stores_with_files(PAYOUT_FILES, async |mut server| {
        let [producer, _, operator, _, _] = create_keys(&mut server).await;
        server.use_key(Some(&producer));
        let job = server.create(json!({ "type": "payout" })).await;
        assert_fields(&job, json!({ "state": "proposed", "phase": "waiting", "attempt": 0 }));
        let why = server.read(&path(&job, "explain")).await;
        let who = |trigger: &str| find(&why["next"], "trigger", trigger)["who"].clone();
        assert_eq!(who("signal:approve"), json!(["operator"]));
        assert_eq!(who("signal:withdraw"), json!(["owner", "operator"]));
        server.call(&job, "signals/approve", &json!({})).await.problem(403, "forbidden");
        assert_eq!(server.job(&job).await["seq"], 1, "nothing changed");
        let lifecycle = server.read("/api/lifecycles/payout").await;
        let approve = find(&lifecycle["transitions"], "on", "signal:approve").clone();
        assert_eq!(approve["by"], json!(["operator"]));

        server.use_key(Some(&operator));
        assert_eq!(server.claim(json!({ "worker": "w1", "max": 1 })).await, Vec::<Value>::new());
        let approved = server.call_ok(&job, "signals/approve", &json!({})).await;
        assert_fields(&approved, json!({ "state": "queued", "phase": "ready", "attempt": 1 }));
        let claimed = server.claim_one().await;
        let paid = server.report_ok(&claimed, "succeed", json!({})).await;
        assert_fields(&paid, json!({ "state": "paid", "attempt": 1 }));
    });
}

#[test]
fn only_a_declared_signal_changes_the_job() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let job = server.create(json!({ "type": "review" })).await;
        let early = server.call(&job, "signals/approve", &json!({})).await;
        let problem = early.problem(409, "invalid_transition");
        assert_fields(&problem, json!({ "current_state": "queued", "trigger": "signal:approve" }));
        let mut allowed = problem["allowed"].as_array().unwrap().clone();
        allowed.sort_by_key(Value::to_string);
        assert_eq!(allowed, ["claim", "timeout"], "the clock's triggers too");
        let claimed = server.claim_one().await;
        let parked = server.report_ok(&claimed, "succeed", json!({ "result": "draft" })).await;
        assert_fields(&parked, json!({ "state": "in_review", "phase": "waiting" }));
        server.call(&job, "signals/burn", &json!({})).await.problem(409, "invalid_transition");
        let decline = path(&job, "signals/decline");
        let ask = async || server.request("POST", &decline).idempotent("k").send().await;
        let finished = ask().await.expect(200);
        assert_fields(&finished, json!({ "state": "rejected", "outcome": "rejected" }));
        let repeat = ask().await.expect_replay();
        assert_fields(&repeat, json!({ "seq": finished["seq"], "replayed": true }));
        let audit = server.read("/api/audit").await;
        assert_eq!(find(&audit["audit"], "action", "DECLINED")["job_id"], job["id"]);
    });
}

#[test]
fn every_post_is_idempotent_with_a_key() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let twice = async |path: &str, body: Value| {
            let ask = async || server.post_keyed("once", path, &body).await;
            let (first, second) = (ask().await, ask().await);
            assert!(first.status < 300 && second.status < 300, "{path}: {} {}", first.text, second.text);
            second
        };
        let journal = async || server.journal().await.len();
        let job = server.create(json!({ "type": "a" })).await;
        twice(&path(&job, "logs"), json!({ "lines": [{ "text": "x" }] })).await;
        assert_eq!(server.rows(&path(&job, "logs")).await.len(), 1);
        let again = twice("/api/claims", json!({ "worker": "w1", "max": 1 })).await;
        assert_eq!(again.body["jobs"][0]["id"], job["id"]);
        for (call, body) in [
            ("start", json!({ "worker": "w1", "fence": 1 })),
            ("release", json!({ "worker": "w1", "fence": 1 })),
            ("cancel", json!({ "reason": "x" })),
        ] {
            let before = journal().await;
            let again = twice(&path(&job, call), body).await;
            assert_eq!(again.header("idempotent-replayed"), Some("true"), "{call}");
            assert_eq!(again.body["replayed"], true, "{call}");
            assert_eq!(journal().await, before + 1, "{call}");
        }
        let other = server.post_keyed("once", &path(&job, "cancel"), &json!({ "reason": "y" })).await;
        other.problem(422, "idempotency_mismatch");
        let dead = server.create(json!({ "type": "a" })).await;
        let body = json!({ "reason_code": "timeout", "detail": "" });
        let again = twice(&path(&dead, "dead-letter"), body).await;
        assert_eq!(again.body["replayed"], true);
        twice(&format!("/api/dead-letters/{}/dismiss", id(&dead)), json!({ "reason": "x" })).await;
        twice("/api/queues/q/pause", json!({})).await;
        twice("/api/jobs/actions", json!({ "action": "retry", "filter": { "outcome": "dead" } })).await;
        assert_eq!(server.rows("/api/jobs?phase=ready").await.len(), 1);
        let report = json!({ "job": job["id"], "fence": 1, "verb": "heartbeat" });
        twice("/api/reports", json!({ "worker": "w1", "reports": [report] })).await;
    });
}

#[test]
fn a_compensation_is_recorded_after_the_job_has_finished() {
    let config = r#"
[types.book]
lifecycle = "distributed"
compensate_with = "unbook"
[types.unbook]
lifecycle = "distributed"
"#;
    on_both_stores_with_config(config, async |server| {
        let claimed = server.create_claimed(json!({ "type": "book" })).await;
        let gone = json!({ "error": { "class": "permanent", "code": "E", "message": "m" } });
        server.report_ok(&claimed, "fail", gone).await;
        let undo = server.claim_one().await;
        assert_fields(&undo, json!({ "type": "unbook", "/payload/error/code": "E" }));
        assert_eq!(undo["payload"]["job"]["id"], claimed["id"]);
        server.succeed(&undo).await;
        let last = server.events(&claimed).await.pop().unwrap();
        assert_fields(&last, json!({ "type": "job_compensated", "seq": null }));
        assert_field_names(&last, EVENT);
        assert_eq!(server.job(&claimed).await["seq"], 4);
        assert!(server.journal().await.contains(&last), "the feed has it too");
    });
}

#[test]
fn a_job_that_is_not_claimed_in_time_fails_with_a_reason() {
    let config = "[types.scene]\nlifecycle = \"engine\"\ntimeouts = { queued = \"300ms\" }\n";
    on_both_stores_with_config(config, async |server| {
        let job = server.create(json!({ "type": "scene" })).await;
        let finished = server.job_when(&job, "phase", "final").await;
        assert_fields(&finished, json!({ "state": "failed", "outcome": "failed" }));
        assert_fields(&finished["error"], json!({ "code": "QUEUE_TIMEOUT", "category": "queue" }));
        let text = finished["error"]["text"].as_str().unwrap();
        assert!(text.starts_with("QUEUE_TIMEOUT: "), "{text}");
        assert_eq!(server.stream(&path(&job, "stream"), None).await.rest().await[0].data["state"], "failed");
    });
}

#[test]
fn a_lifecycle_without_a_cancel_refuses_it() {
    on_both_stores_with_config("[types.export]\nlifecycle = \"pattern\"\n", async |server| {
        let job = server.create(json!({ "type": "export" })).await;
        let problem = server.call(&job, "cancel", &json!({})).await.problem(409, "invalid_transition");
        assert_eq!((&problem["current_state"], &problem["trigger"]), (&json!("queued"), &json!("cancel")));
        assert_eq!(problem["allowed"], json!(["claim"]));
        server.claim_one().await;
        server.call(&job, "cancel", &json!({ "mode": "hard" })).await.problem(409, "invalid_transition");
        assert_eq!(server.job(&job).await["seq"], 2);
    });
}
