//! image: guarded on creation, paid with credits, moderated, retried, dead-lettered.

use serde_json::{Value, json};
use tenure_e2e::{
    Reply, Server, assert_fields, column, eventually, millis, on_both_stores_with_config, rows,
};

use super::{assert_timestamps, check_transitions, claim, history, new_job};

const CONFIG: &str = include_str!("../fixtures/promise_image.toml");

/// Each state with the triggers that lead there, then every allowed transition.
const TABLE: &str = include_str!("image.txt");

#[test]
fn only_the_allowed_next_states_are_reached() {
    on_both_stores_with_config(CONFIG, async |server| check_transitions(&server, "free", TABLE).await);
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
        let again = ask(&server, "u1", json!("a cat")).await;
        assert_eq!(again.expect_replay()["id"], job["id"]);
        ask(&server, "u1", json!("a dog")).await.problem(402, "insufficient_credits");
        assert_eq!(server.account("u1").await, [5, 3, 0, 2], "charged once");
        let jobs = server.read("/api/jobs").await;
        assert_eq!(column(&jobs["jobs"], "id"), [job["id"].clone()]);
    });
}

#[test]
fn the_derived_key_consists_of_user_prompt_params_and_minute() {
    on_both_stores_with_config(CONFIG, async |server| {
        let ask = async |user: &str, prompt: &str, params: Value| {
            let payload = json!({ "prompt": prompt, "params": params });
            let body = json!({ "type": "free", "user_id": user, "payload": payload });
            server.post("/api/jobs", &body).await
        };
        let size = json!({ "w": 512, "h": 256 });
        let first = ask("u1", "a cat", size.clone()).await.expect(202);
        let key = first["idempotency_key"].as_str().expect("the key is shown").to_owned();
        assert!(key.len() >= 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "a hash: {key}");
        let same = ask("u1", "a cat", json!({ "h": 256, "w": 512 })).await;
        assert_eq!(same.clone().expect(200)["id"], first["id"], "the order of members does not matter");
        for (user, prompt, params) in
            [("u2", "a cat", size.clone()), ("u1", "a dog", size.clone()), ("u1", "a cat", json!({ "w": 1 }))]
        {
            let other = ask(user, prompt, params).await.expect(202);
            assert_ne!(other["id"], first["id"]);
            assert_ne!(other["idempotency_key"], first["idempotency_key"]);
        }
        // A given key takes precedence over the derived one.
        let body =
            json!({ "type": "free", "user_id": "u1", "payload": { "prompt": "a cat", "params": size } });
        let given = server.request("POST", "/api/jobs").idempotent("mine").json(&body).send().await;
        let given = given.expect(202);
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
            let make =
                json!({ "type": "free", "user_id": "u1", "payload": { "prompt": format!("{verb} {more}") } });
            let ask = async || {
                server.request("POST", "/api/jobs").idempotent(&more.to_string()).json(&make).send().await
            };
            let first = ask().await.expect(202);
            assert_eq!(ask().await.expect(200)["id"], first["id"], "while it waits");
            let claimed = server.claim_one().await;
            assert_eq!(ask().await.expect(200)["id"], first["id"], "while it runs");
            server.report(&claimed, verb, more.clone()).await.expect(200);
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
        server.report(&claimed, "heartbeat", json!({})).await.expect(200);
        let result = json!({ "result": { "url": "originals/cat.png" } });
        let finished = server.report(&claimed, "succeed", result).await.expect(200);
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
            let failed =
                server.report(&claimed, "fail", json!({ "error": { "code": "API_500" } })).await.expect(200);
            assert_fields(&failed, json!({ "state": "failed", "phase": "waiting" }));
            assert_fields(&failed, json!({ "retry_count": count, "/error/code": "API_500" }));
            eventually("it is queued again", async || server.job(&job).await["state"] == "queued").await;
            let events = history(&server, &job).await;
            let at = |trigger: &str| {
                let last = events.iter().rev().find(|event| event["trigger"] == trigger);
                millis(&last.unwrap_or_else(|| panic!("no {trigger}: {events:?}"))["ts"])
            };
            assert!(at("due") - at("fail") >= wait, "{events:?}");
        }
        let claimed = in_turn(&server, &job).await;
        assert_eq!(claimed["attempt"], 3);
        let dead =
            server.report(&claimed, "fail", json!({ "error": { "code": "API_500" } })).await.expect(200);
        assert_fields(&dead, json!({ "state": "dead_letter", "retry_count": 3 }));
        let letters = server.read("/api/dead-letters").await;
        let letter = &letters["dead_letters"][0];
        assert_eq!((&letter["job_id"], &letter["reason_code"]), (&job["id"], &json!("exhausted_retries")));
        assert_eq!(letter["attempts"], 3);
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
        eventually("it has failed", async || server.job(&job).await["state"] == "failed").await;
        let failed = server.job(&job).await;
        assert_eq!((&failed["error"]["code"], &failed["retry_count"]), (&json!("HEARTBEAT_LOST"), &json!(1)));
    });
}

#[test]
fn a_rejection_refunds_nothing_and_is_recorded_in_the_audit_trail() {
    on_both_stores_with_config(CONFIG, async |server| {
        server.grant("u1", 9).await;
        let job = ask(&server, "u1", json!("nude")).await.expect(202);
        let claimed = server.claim_one().await;
        let finished =
            server.report(&claimed, "reject", json!({ "reason": "NSFW detected" })).await.expect(200);
        assert_fields(&finished, json!({ "state": "rejected", "outcome": "rejected" }));
        assert_eq!(server.account("u1").await, [9, 0, 3, 6], "no refund: a penalty");
        let audit = server.read("/api/audit").await;
        let lines = rows(&audit["audit"]);
        let blocks: Vec<&Value> = lines.iter().filter(|line| line["action"] == "SAFE_BLOCK").collect();
        assert_eq!(blocks.len(), 1, "{audit}");
        assert_fields(
            blocks[0],
            json!({
                "job_id": job["id"], "reason": "REJECTED: NSFW detected", "actor": "worker:w1",
            }),
        );
        // A dead job is refunded.
        ask(&server, "u1", json!("a cat")).await.expect(202);
        let claimed = server.claim_one().await;
        let dead = server.report(&claimed, "fail", json!({ "error": {} })).await.expect(200);
        assert_eq!(dead["state"], "dead_letter");
        assert_eq!(server.account("u1").await, [9, 0, 3, 6]);
        // An operator can block it before a worker has it; the credits are spent as well.
        let waiting = ask(&server, "u1", json!("also nude")).await.expect(202);
        server.call(&waiting, "reject", &json!({ "reason": "reported" })).await.expect(200);
        assert_eq!(server.account("u1").await, [9, 0, 6, 3]);
        let ledger = server.read("/api/accounts/u1/credits").await;
        assert_eq!(
            column(&ledger["ledger"], "kind"),
            ["grant", "reserve", "settle", "reserve", "refund", "reserve", "settle"]
        );
    });
}
