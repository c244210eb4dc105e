//! The calls of operators: bulk actions, queues, settings, audit log, statistics.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_core::lifecycle::Lifecycle;
use tenure_e2e::*;

use crate::jobs::{JOB, REVIEW, REVIEW_FILES};

#[test]
fn a_bulk_action_applies_to_every_matching_job() {
    on_both_stores(async |server| {
        for kind in ["a", "a", "b"] {
            server.create(json!({ "type": kind })).await;
        }
        let act = async |body: Value| server.post("/api/jobs/actions", &body).await;
        let answer = act(json!({ "action": "cancel", "filter": { "type": "a" } })).await.expect(200);
        let jobs = column(&answer["results"], "ok");
        assert_eq!(column(&json!(jobs), "state"), ["cancelled", "cancelled"]);
        assert_field_names(&jobs[0], JOB);
        assert_eq!(server.column("/api/jobs?phase=ready", "type").await, ["b"]);

        let retry = json!({ "action": "retry", "filter": { "outcome": "cancelled" } });
        let jobs = column(&act(retry).await.expect(200)["results"], "ok");
        assert_eq!(column(&json!(jobs), "state"), ["queued", "queued"]);

        // A refused item does not affect the others.
        let answer = act(json!({ "action": "retry", "filter": { "type": "a" } })).await.expect(200);
        let results = rows(&answer["results"]);
        let (good, bad): (Vec<&Value>, Vec<&Value>) = results.iter().partition(|row| row["ok"].is_object());
        assert_eq!((good.len(), bad.len()), (2, 2));
        assert!(bad.iter().all(|row| row["error"]["code"] == "invalid_transition"));

        server.claim_one().await;
        let hard = json!({ "action": "cancel", "filter": { "phase": "active" }, "mode": "hard" });
        let answer = act(hard).await.expect(200);
        assert_eq!(answer["results"][0]["ok"]["state"], "cancelled");
        act(json!({ "action": "burn", "filter": {}, "all": true })).await.problem(400, "malformed");
        act(json!({ "action": "cancel" })).await.problem(400, "malformed");
        act(json!({ "action": "cancel", "filter": { "colour": "red" } })).await.problem(400, "malformed");
        let retry = json!({ "action": "retry", "filter": {}, "all": true, "mode": "hard" });
        act(retry).await.problem_at(400, "malformed", "#/mode");
    });
}

#[test]
fn a_repeated_action_or_redrive_concerns_the_same_jobs() {
    on_both_stores(async |server| {
        let keyed = async |key: &str, path: &str, body: &Value| server.post_keyed(key, path, body).await;
        let ids = |answer: &Value| column(&answer["results"], "job_id");
        let lost = async || {
            let job = server.create(json!({ "type": "a" })).await;
            let body = json!({ "reason_code": "timeout", "detail": "slow" });
            server.call_ok(&job, "dead-letter", &body).await["id"].clone()
        };
        let first = lost().await;
        let retry = json!({ "action": "retry", "filter": { "outcome": "dead" } });
        let redrive = json!({ "filter": { "type": "a" } });
        let copied = keyed("k1", "/api/jobs/actions", &retry).await.expect(200);
        let redriven = keyed("k2", "/api/dead-letters/redrive", &redrive).await.expect(200);
        assert_eq!((ids(&copied), ids(&redriven)), (vec![first.clone()], vec![first.clone()]));
        server.create(json!({ "type": "cancelled" })).await;
        let cancel = json!({ "action": "cancel", "filter": { "type": "cancelled" } });
        assert_eq!(keyed("k3", "/api/jobs/actions", &cancel).await.expect(200)["matched"], 1);

        let second = lost().await;
        let kept = server.create(json!({ "type": "cancelled" })).await;
        let before = server.rows("/api/jobs?type=a").await.len();
        let again = keyed("k1", "/api/jobs/actions", &retry).await.expect(200);
        assert_eq!(again["results"][0]["ok"]["id"], copied["results"][0]["ok"]["id"]);
        assert_eq!(ids(&again), vec![first.clone()]);
        let again = keyed("k2", "/api/dead-letters/redrive", &redrive).await.expect(200);
        assert_eq!(ids(&again), vec![first]);
        assert_eq!(server.rows("/api/jobs?type=a").await.len(), before, "nothing was created");
        keyed("k3", "/api/jobs/actions", &cancel).await.expect(200);
        assert_eq!(server.job(&kept).await["state"], "queued");

        let other = json!({ "action": "cancel", "filter": { "type": "a" } });
        for key in ["k1", "k3"] {
            keyed(key, "/api/jobs/actions", &other).await.problem(422, "idempotency_mismatch");
        }
        let other = json!({ "ids": [second] });
        keyed("k2", "/api/dead-letters/redrive", &other).await.problem(422, "idempotency_mismatch");
        let fresh = keyed("k4", "/api/dead-letters/redrive", &redrive).await.expect(200);
        assert!(ids(&fresh).contains(&second), "{fresh}");
    });
}

#[test]
fn a_bulk_action_on_every_job_must_say_so() {
    on_both_stores(async |server| {
        for kind in ["a", "b", "b"] {
            server.create(json!({ "type": kind })).await;
        }
        let act = async |body: Value| server.post("/api/jobs/actions", &body).await;
        for filter in [json!({}), json!({ "type": null, "state": null })] {
            for dry_run in [false, true] {
                let body = json!({ "action": "cancel", "filter": filter, "dry_run": dry_run });
                act(body).await.problem_at(400, "malformed", "#/filter");
            }
        }
        let count = json!({ "action": "cancel", "filter": { "type": "b" }, "dry_run": true });
        let answer = act(count).await.expect(200);
        assert_eq!(answer, json!({ "matched": 2, "results": [], "next_cursor": null }));
        let all = json!({ "action": "cancel", "filter": {}, "all": true, "dry_run": true });
        assert_eq!(act(all.clone()).await.expect(200)["matched"], 3);
        assert_eq!(server.rows("/api/jobs?phase=ready").await.len(), 3, "nothing was changed");
        let mut all = all;
        all["dry_run"] = json!(false);
        assert_eq!(rows(&act(all).await.expect(200)["results"]).len(), 3);
        assert_eq!(server.rows("/api/jobs?outcome=cancelled").await.len(), 3);
    });
}

#[test]
fn a_deleted_job_leaves_an_audit_line() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let waits = server.create(json!({ "type": "b" })).await;
        let delete = async |job: &Value| server.request("DELETE", &path(job, "")).send().await;
        let problem = delete(&job).await.problem(409, "invalid_transition");
        assert_fields(&problem, json!({ "current_state": "queued", "trigger": "delete" }));
        server.call_ok(&job, "cancel", &json!({})).await;
        let deleted = delete(&job).await.expect(200);
        assert_fields(&deleted, json!({ "id": job["id"], "state": "cancelled" }));
        server.get(&path(&job, "")).await.problem(404, "not_found");
        delete(&job).await.problem(404, "not_found");
        assert!(server.journal().await.iter().all(|event| event["job_id"] == waits["id"]));
        let line = server.rows("/api/audit").await.pop().unwrap();
        assert_fields(&line, json!({ "action": "delete", "job_id": job["id"] }));

        let filter = json!({ "action": "delete", "filter": { "type": "b" } });
        let answer = server.post_ok("/api/jobs/actions", &filter).await;
        assert_eq!(answer["results"][0]["error"]["code"], "invalid_transition");
        server.call_ok(&waits, "cancel", &json!({})).await;
        let filter = json!({ "action": "delete", "filter": { "outcome": "cancelled" } });
        let answer = server.post_ok("/api/jobs/actions", &filter).await;
        assert_eq!(answer["results"][0]["ok"]["id"], waits["id"]);
        assert_eq!(server.rows("/api/jobs").await, Vec::<Value>::new());
    });
}

const PAID: &str = r#"
[types.paid]
lifecycle = "image"
cost = 2
"#;

#[test]
fn an_erased_user_leaves_amounts_without_a_name() {
    on_both_stores_with_config(PAID, async |server| {
        server.grant("ann", 10).await;
        let body =
            |user: &str, n: u32| json!({ "type": "paid", "user_id": user, "payload": { "prompt": n } });
        let running = server.create_claimed(body("ann", 1)).await;
        let waits = server.create(body("ann", 2)).await;
        server.call_ok(&waits, "reject", &json!({ "reason": "unsafe" })).await;
        server.grant("bob", 2).await;
        let other = server.create(body("bob", 3)).await;

        server.post("/api/users/ann/erase", &json!({})).await.problem(400, "malformed");
        let erase = async || server.post_ok("/api/users/ann/erase", &json!({ "reason": "case 7" })).await;
        let done = json!({ "user_id": "ann", "deleted": 1, "unfinished": 1, "complete": false });
        assert_eq!(erase().await, done);
        server.get(&path(&waits, "")).await.problem(404, "not_found");
        assert_eq!(server.account("ann").await, [10, 2, 2, 6], "its job is unfinished");

        server.report_ok(&running, "succeed", json!({})).await;
        let done = json!({ "user_id": "ann", "deleted": 1, "unfinished": 0, "complete": true });
        assert_eq!(erase().await, done);
        server.get(&path(&running, "")).await.problem(404, "not_found");
        assert_eq!(server.account("ann").await, [0; 4]);
        assert_eq!(server.job(&other).await["user_id"], "bob");
        let audit = server.rows("/api/audit").await;
        let line = find(&json!(audit), "action", "erase").clone();
        let reason = line["reason"].as_str().unwrap().to_owned();
        let alias = reason.strip_suffix(": case 7").unwrap();
        assert!(alias.starts_with("erased-"), "{line}");
        let account = server.read(&format!("/api/accounts/{alias}/credits")).await;
        assert_fields(&account, json!({ "granted": 10, "reserved": 0, "spent": 4, "available": 6 }));
        assert_eq!(rows(&account["ledger"]).len(), 5);
        assert!(rows(&account["ledger"]).iter().all(|line| line["reason"].is_null()), "{account}");
        assert!(audit.iter().any(|line| line["action"] == "erase_finished"), "{audit:?}");
    });
}

#[test]
fn queues_are_listed_with_their_depth() {
    on_both_stores(async |server| {
        for queue in ["day", "day", "night"] {
            server.create(json!({ "type": "a", "queue": queue })).await;
        }
        server.claim(json!({ "worker": "w", "queues": ["day"], "max": 1 })).await;
        server.post_ok("/api/queues/night/pause", &json!({})).await;
        server.request("POST", "/api/queues/night/pause").send().await.expect(200);
        let page = server.read("/api/queues").await;
        assert_eq!(field_names(&page), ["next_cursor", "queues"]);
        let queue = |name: &str| find(&page["queues"], "name", name);
        assert_fields(queue("day"), json!({ "ready": 1, "running": 1, "paused": false }));
        assert_fields(queue("night"), json!({ "ready": 1, "paused": true }));
        server.post_ok("/api/queues/night/resume", &json!({})).await;
        assert!(server.column("/api/queues", "paused").await.iter().all(|paused| paused == false));
    });
}

#[test]
fn active_lifecycles_types_and_settings_are_shown() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let page = server.read("/api/types").await;
        assert_eq!(field_names(&page), ["next_cursor", "types"]);
        let mut names: Vec<Value> = column(&page["types"], "name");
        names.sort_by_key(Value::to_string);
        assert_eq!(names, ["*", "review"]);
        let lease = column(&page["types"], "lease");
        assert!(lease.iter().all(Value::is_string), "spans are strings: {lease:?}");

        let page = server.read("/api/lifecycles").await;
        assert_eq!(field_names(&page), ["lifecycles", "next_cursor"]);
        let names = column(&page["lifecycles"], "name");
        for name in ["distributed", "engine", "image", "pattern", "review", "so1"] {
            assert!(names.contains(&json!(name)), "{name}");
            let one = server.read(&format!("/api/lifecycles/{name}")).await;
            assert_fields(&one, json!({ "name": name, "version": 1 }));
            let source = one["source"].as_str().unwrap();
            let read = Lifecycle::parse(source).expect("an active lifecycle is valid");
            assert_eq!(read.name, name, "it can be parsed again");
            assert!(name != "review" || source == REVIEW, "the whole file with its comments");
            let svg = server.get(&format!("/api/lifecycles/{name}/diagram.svg")).await;
            assert_eq!((svg.status, svg.header("content-type")), (200, Some("image/svg+xml")));
            assert!(svg.text.contains("<svg") && svg.text.trim_end().ends_with("</svg>"), "{}", svg.text);
        }
        server.get("/api/lifecycles/none").await.problem(404, "not_found");
        server.get("/api/lifecycles/none/diagram.svg").await.problem(404, "not_found");
    });
}

#[test]
fn every_operator_action_is_in_the_audit_log() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        server.call_ok(&job, "cancel", &json!({ "reason": "why" })).await;
        let again = server.call(&job, "retry", &json!({})).await.expect(202);
        server.call_ok(&again, "dead-letter", &json!({ "reason_code": "timeout", "detail": "slow" })).await;
        server.post_ok("/api/dead-letters/redrive", &json!({ "ids": [again["id"]] })).await;
        let dismiss = format!("/api/dead-letters/{}/dismiss", id(&again));
        server.post_ok(&dismiss, &json!({ "reason": "known" })).await;
        server.post_ok("/api/queues/night/pause", &json!({})).await;
        server.post_ok("/api/queues/night/resume", &json!({})).await;
        server.post_ok("/api/accounts/u/credits", &json!({ "grant": 1, "reason": "gift" })).await;
        let bulk = json!({ "action": "cancel", "filter": { "type": "a", "phase": "ready" } });
        server.post_ok("/api/jobs/actions", &bulk).await;
        let page = server.read("/api/audit").await;
        assert_eq!(field_names(&page), ["audit", "next_cursor"]);
        let lines = rows(&page["audit"]);
        for line in lines {
            assert_field_names(line, "id ts action actor job_id reason details");
            assert!(line["actor"].as_str().is_some_and(|actor| actor.starts_with("admin")), "{line}");
        }
        for expected in [
            json!(["cancel", job["id"], "why"]),
            json!(["retry", job["id"], null]),
            json!(["dead-letter", again["id"], "slow"]),
            json!(["retry", again["id"], null]),
            json!(["dismiss", again["id"], "known"]),
            json!(["pause", null, "night"]),
            json!(["resume", null, "night"]),
            json!(["grant", null, "1 for u: gift"]),
        ] {
            let mut found = lines.iter().map(|line| json!([line["action"], line["job_id"], line["reason"]]));
            assert!(found.any(|found| found == expected), "{expected}: {page}");
        }
        assert_eq!(lines.iter().filter(|line| line["action"] == "cancel").count(), 2, "a bulk action too");
        assert_eq!(server.all_pages("/api/audit?limit=2", "audit").await, lines);
    });
}

#[test]
fn statistics_count_open_and_finished_jobs() {
    on_both_stores(async |server| {
        for _ in 0..3 {
            server.create_finished(json!({ "type": "a" })).await;
        }
        server.create(json!({ "type": "b" })).await;
        eventually("everything is counted", async || {
            let stats = server.read("/api/stats").await;
            // A scan of finished jobs that overlaps with their commits is corrected by the next one.
            let has = |kind: &str, count: u64| {
                rows(&stats["counts"]).iter().any(|row| row["type"] == kind && row["count"] == count)
            };
            has("a", 3)
                && has("b", 1)
                && rows(&stats["types"]).iter().any(|row| row["type"] == "a" && row["finished"] == 3)
        })
        .await;
        let stats = server.read("/api/stats").await;
        let counts = rows(&stats["counts"]);
        let count = |kind: &str, state: &str| {
            let row = counts.iter().find(|row| row["type"] == kind && row["state"] == state);
            row.map(|row| (row["lifecycle"].clone(), row["count"].clone()))
        };
        assert_eq!(count("a", "succeeded"), Some((json!("distributed"), json!(3))));
        assert_eq!(count("b", "queued"), Some((json!("distributed"), json!(1))));
        let finished = find(&stats["types"], "type", "a");
        assert_fields(finished, json!({ "finished": 3, "outcomes": { "succeeded": 3 } }));
        assert!(finished["rate"].as_f64().is_some_and(|rate| rate > 0.0));
        for spans in ["wait_ms", "run_ms"] {
            assert_eq!(field_names(&finished[spans]), ["p50", "p95", "p99"]);
            assert!(finished[spans].as_object().unwrap().values().all(Value::is_u64), "{finished}");
        }
    });
}

#[test]
fn a_bulk_action_applies_to_thousands_of_jobs() {
    on_both_stores(async |server| {
        server.post_ok("/api/jobs/batch", &json!({ "jobs": vec![json!({ "type": "a" }); 1300] })).await;
        let cancel = json!({ "action": "cancel", "filter": { "type": "a" } });
        let answer = server.post_ok("/api/jobs/actions", &cancel).await;
        assert_eq!(answer["next_cursor"], Value::Null);
        let done = rows(&answer["results"]).iter().filter(|row| row["ok"]["state"] == "cancelled");
        assert_eq!(done.map(|row| row["job_id"].to_string()).collect::<BTreeSet<_>>().len(), 1300);
        assert!(server.claim(json!({ "worker": "w", "max": 1 })).await.is_empty());
    });
}

#[tokio::test]
async fn a_worker_seen_by_one_node_is_listed_by_the_other() {
    let one = Server::postgres().await;
    let two = one.second_node().await;
    one.create(json!({ "type": "a" })).await;
    let claimed = one.claim_one().await;
    let page = two.read("/api/workers").await;
    let held = rows(&page["workers"]).iter().find(|row| row["name"] == "w1");
    assert_eq!(held.expect("who holds something is listed at once")["holds"][0]["job_id"], claimed["id"]);
    eventually("it was seen", async || {
        let page = two.read("/api/workers").await;
        rows(&page["workers"]).iter().any(|row| row["name"] == "w1" && row["seen_at"].is_string())
    })
    .await;
    two.succeed(&claimed).await;
}
