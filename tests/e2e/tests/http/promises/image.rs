//! image: guarded on creation, paid with credits, moderated, retried, dead-lettered.

use serde_json::{Value, json};
use tenure_e2e::{Reply, Server, assert_fields, column, millis, on_both_stores_with_config};

use super::{assert_timestamps, check_transitions, claim, new_job};

const CONFIG: &str = include_str!("../fixtures/promise_image.toml");

#[test]
fn only_the_allowed_next_states_are_reached() {
    check_transitions(CONFIG, "free", include_str!("image.txt"));
}

async fn ask(server: &Server, user: &str, prompt: Value) -> Reply {
    let body = json!({ "type": "paid", "user_id": user, "payload": { "prompt": prompt } });
    server.post("/api/jobs", &body).await
}

#[test]
fn guards_run_in_order_and_a_refused_job_leaves_nothing_behind() {
    on_both_stores_with_config(CONFIG, async |server| {
        server.post("/api/jobs", &json!({ "type": "sculpture" })).await.problem(422, "unknown_type");
        // Of two problems the first is reported.
        let both_wrong = json!({ "type": "paid", "user_id": "u1", "payload": { "text": "forbidden" } });
        server.post("/api/jobs", &both_wrong).await.problem(422, "validation_failed");
        ask(&server, "u1", json!("something FORBIDDEN")).await.problem(422, "guard_rejected");
        let poor = ask(&server, "u1", json!("a cat")).await.problem(402, "insufficient_credits");
        assert_fields(&poor, json!({ "cost": 3, "available": 0 }));
        server.grant("u1", 5).await;
        ask(&server, "u1", json!("forbidden cat")).await.problem(422, "guard_rejected");
        assert_eq!(server.account("u1").await, [5, 0, 0, 5]);
        let job = ask(&server, "u1", json!("a cat")).await.expect(202);
        assert_eq!(server.account("u1").await, [5, 3, 0, 2], "reserved in the same commit");
        // The key is checked before the quota: a repeat is found even without credits for a new job.
        assert_eq!(ask(&server, "u1", json!("a cat")).await.expect_replay()["id"], job["id"]);
        ask(&server, "u1", json!("a dog")).await.problem(402, "insufficient_credits");
        assert_eq!(server.account("u1").await, [5, 3, 0, 2], "charged once");
        assert_eq!(server.column("/api/jobs", "id").await, [job["id"].clone()]);
    });
}

#[test]
fn the_derived_key_consists_of_user_prompt_params_and_minute() {
    on_both_stores_with_config(CONFIG, async |server| {
        let asked = |user: &str, prompt: &str, params: Value| {
            let payload = json!({ "prompt": prompt, "params": params });
            json!({ "type": "free", "user_id": user, "payload": payload })
        };
        let ask = async |user: &str, prompt: &str, params: Value| {
            server.post("/api/jobs", &asked(user, prompt, params)).await
        };
        let size = json!({ "w": 512, "h": 256 });
        let first = ask("u1", "a cat", size.clone()).await.expect(202);
        let key = first["idempotency_key"].as_str().expect("the key is shown").to_owned();
        assert!(key.len() >= 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "a hash: {key}");
        let same = ask("u1", "a cat", json!({ "h": 256, "w": 512 })).await;
        assert_eq!(same.clone().expect(200)["id"], first["id"], "the order of members does not matter");
        let small = json!({ "w": 1 });
        for (user, prompt, params) in
            [("u2", "a cat", &size), ("u1", "a dog", &size), ("u1", "a cat", &small)]
        {
            let other = ask(user, prompt, params.clone()).await.expect(202);
            assert_ne!(other["id"], first["id"]);
            assert_ne!(other["idempotency_key"], first["idempotency_key"]);
        }
        // A given key takes precedence over the derived one.
        let given = server.post_keyed("mine", "/api/jobs", &asked("u1", "a cat", size)).await.expect(202);
        assert_eq!((&given["idempotency_key"], given["id"] == first["id"]), (&json!("mine"), false));
    });
}

#[test]
fn only_a_failed_job_frees_its_key() {
    on_both_stores_with_config(CONFIG, async |server| {
        for (verb, more, is_free) in [
            ("succeed", json!({}), false),
            ("reject", json!({ "reason": "unsafe" }), false),
            ("fail", json!({ "error": {} }), true),
            ("fail", json!({ "error": { "class": "permanent" } }), true),
        ] {
            let prompt = format!("{verb} {more}");
            let make = json!({ "type": "free", "user_id": "u1", "payload": { "prompt": prompt } });
            let ask = async || server.post_keyed(&more.to_string(), "/api/jobs", &make).await;
            let first = ask().await.expect(202);
            assert_eq!(ask().await.expect(200)["id"], first["id"], "while it waits");
            let claimed = server.claim_one().await;
            assert_eq!(ask().await.expect(200)["id"], first["id"], "while it runs");
            server.report_ok(&claimed, verb, more.clone()).await;
            let again = ask().await;
            assert_eq!(again.status, if is_free { 202 } else { 200 }, "{verb} {more}");
            assert_eq!(again.body["id"] != first["id"], is_free);
            if is_free {
                let claimed = server.claim_one().await;
                server.succeed(&claimed).await;
            }
        }
    });
}

#[test]
fn a_pickup_sets_started_at_and_a_success_sets_the_result_url_and_spends_the_credits() {
    on_both_stores_with_config(CONFIG, async |server| {
        server.grant("u1", 3).await;
        let job = ask(&server, "u1", json!("a cat")).await.expect(202);
        assert_eq!(job["started_at"], Value::Null);
        let claimed = server.claim_one().await;
        assert_fields(&claimed, json!({ "state": "running", "started_at": claimed["entered"]["running"] }));
        server.report_ok(&claimed, "heartbeat", json!({})).await;
        let result = json!({ "result": { "url": "originals/cat.png" } });
        let finished = server.report_ok(&claimed, "succeed", result).await;
        assert_fields(&finished, json!({ "state": "completed", "/result/url": "originals/cat.png" }));
        assert_timestamps(&finished);
        assert_eq!(server.account("u1").await, [3, 0, 3, 0]);
    });
}

#[test]
fn failures_are_counted_retried_with_growing_delays_and_finally_dead_lettered() {
    on_both_stores_with_config(CONFIG, async |server| {
        let job = new_job(&server, "quick", json!({})).await;
        for (count, wait) in [(1, 100), (2, 200)] {
            let claimed = in_turn(&server, &job).await;
            let failed = server.report_ok(&claimed, "fail", json!({ "error": { "code": "API_500" } })).await;
            assert_fields(&failed, json!({ "state": "failed", "phase": "waiting" }));
            assert_fields(&failed, json!({ "retry_count": count, "/error/code": "API_500" }));
            server.job_when(&job, "state", "queued").await;
            let events = server.events(&job).await;
            let at = |trigger: &str| {
                let last = events.iter().rev().find(|event| event["trigger"] == trigger);
                millis(&last.unwrap_or_else(|| panic!("no {trigger}: {events:?}"))["ts"])
            };
            assert!(at("due") - at("fail") >= wait, "{events:?}");
        }
        let claimed = in_turn(&server, &job).await;
        assert_eq!(claimed["attempt"], 3);
        let dead = server.report_ok(&claimed, "fail", json!({ "error": { "code": "API_500" } })).await;
        assert_fields(&dead, json!({ "state": "dead_letter", "retry_count": 3 }));
        let letter = &server.read("/api/dead-letters").await["dead_letters"][0];
        let reason = "exhausted_retries";
        assert_fields(letter, json!({ "job_id": job["id"], "reason_code": reason, "attempts": 3 }));
    });
}

/// Claims the job as soon as it is ready.
async fn in_turn(server: &Server, job: &Value) -> Value {
    let claim = json!({ "worker": "w1", "max": 1, "queues": [job["queue"]], "wait": "20s" });
    server.claim(claim).await.remove(0)
}

#[test]
fn a_lost_worker_counts_as_a_failure() {
    on_both_stores_with_config(CONFIG, async |server| {
        let job = new_job(&server, "fragile", json!({})).await;
        claim(&server, &job, "w1").await.remove(0);
        let failed = server.job_when(&job, "state", "failed").await;
        assert_fields(&failed, json!({ "/error/code": "HEARTBEAT_LOST", "retry_count": 1 }));
    });
}

#[test]
fn a_rejection_refunds_nothing_and_is_recorded_in_the_audit_trail() {
    on_both_stores_with_config(CONFIG, async |server| {
        server.grant("u1", 9).await;
        let job = ask(&server, "u1", json!("nude")).await.expect(202);
        let claimed = server.claim_one().await;
        let finished = server.report_ok(&claimed, "reject", json!({ "reason": "NSFW detected" })).await;
        assert_fields(&finished, json!({ "state": "rejected", "outcome": "rejected" }));
        assert_eq!(server.account("u1").await, [9, 0, 3, 6], "no refund: a penalty");
        let mut blocks = server.rows("/api/audit").await;
        blocks.retain(|line| line["action"] == "SAFE_BLOCK");
        assert_eq!(blocks.len(), 1, "{blocks:?}");
        assert_fields(&blocks[0], json!({ "job_id": job["id"], "reason": "REJECTED: NSFW detected" }));
        assert_eq!(blocks[0]["actor"], "worker:w1");
        // A dead job is refunded.
        ask(&server, "u1", json!("a cat")).await.expect(202);
        let claimed = server.claim_one().await;
        assert_eq!(server.report_ok(&claimed, "fail", json!({ "error": {} })).await["state"], "dead_letter");
        assert_eq!(server.account("u1").await, [9, 0, 3, 6]);
        // An operator can block it before a worker has it; the credits are spent as well.
        let waiting = ask(&server, "u1", json!("also nude")).await.expect(202);
        server.call_ok(&waiting, "reject", &json!({ "reason": "reported" })).await;
        assert_eq!(server.account("u1").await, [9, 0, 6, 3]);
        let ledger = server.read("/api/accounts/u1/credits").await;
        let kinds = ["grant", "reserve", "settle", "reserve", "refund", "reserve", "settle"];
        assert_eq!(column(&ledger["ledger"], "kind"), kinds);
    });
}
