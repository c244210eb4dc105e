//! The numbers of `/api/stats`, on every node and after a restart.

use serde_json::{Value, json};
use tenure_e2e::*;

/// Number of jobs of the last hour that were `created`, `finished` or `failed`.
fn hour(stats: &Value, what: &str) -> u64 {
    let minutes = rows(&stats["minutes"][what]);
    assert_eq!(minutes.len(), 60);
    minutes.iter().map(|count| count.as_u64().unwrap()).sum()
}

fn find_row<'a>(stats: &'a Value, list: &str, is: impl Fn(&Value) -> bool) -> Option<&'a Value> {
    rows(&stats[list]).iter().find(|row| is(row))
}

fn state<'a>(stats: &'a Value, name: &str) -> &'a Value {
    let is = |row: &Value| row["lifecycle"] == "distributed" && row["state"] == name;
    find_row(stats, "states", is).expect("every state of every lifecycle is there")
}

async fn stats(server: &Server) -> Value {
    server.read("/api/stats").await
}

/// Waits until a condition on the statistics holds, and returns them.
async fn once(server: &Server, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    eventually(what, async || is(&stats(server).await)).await;
    stats(server).await
}

#[test]
fn counts_follow_the_jobs() {
    on_both_stores(async |server| {
        let calm = stats(&server).await;
        assert_eq!((&calm["attention"], &calm["failures"]), (&json!([]), &json!([])), "all is well");
        server.create_finished(json!({ "type": "a" })).await;
        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        let error = json!({ "code": "NO_INK", "message": "the ink is out", "class": "permanent" });
        server.report_ok(&claimed, "fail", json!({ "error": error })).await;
        server.create(json!({ "type": "b" })).await;
        server.create(json!({ "type": "b" })).await;
        let held = server.claim_one().await;
        let is_counted = |stats: &Value| {
            hour(stats, "created") == 4
                && state(stats, "running")["count"] == 1
                && state(stats, "running")["oldest_since"].is_string()
                && state(stats, "assigned")["p95_ms"].is_u64()
        };
        let now = once(&server, "everything is counted", is_counted).await;
        assert_eq!((hour(&now, "finished"), hour(&now, "failed")), (2, 1));
        for (name, count) in [("queued", 1), ("assigned", 0), ("succeeded", 1), ("failed", 1)] {
            assert_eq!(state(&now, name)["count"], count, "{name}: {now}");
        }
        assert_eq!(state(&now, "running")["oldest_since"], held["started_at"]);
        assert!(state(&now, "queued")["oldest_since"].is_string());
        let claim = find(&now["transitions"], "trigger", "claim");
        assert_fields(claim, json!({ "from": "queued", "to": "assigned" }));
        let is_recent = rows(&now["minutes"]["created"])[58..].iter().any(|count| *count != 0);
        assert!(!is_recent || claim["per_minute"].as_f64().unwrap() > 0.0, "{claim}");
        assert_eq!(rows(&now["failures"]).len(), 1);
        let failure = &now["failures"][0];
        assert_field_names(failure, "code count first_at job_id last_at message type");
        assert_fields(failure, json!({ "code": "NO_INK", "count": 1, "job_id": claimed["id"] }));
        assert_eq!(failure["message"], "the ink is out");
        assert_eq!(now["nodes"][0]["own"], true);
    });
}

#[test]
fn an_attention_item_stays_until_it_is_resolved() {
    const BOTH: [&str; 2] = ["dead_letters", "paused_queue"];
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        server.call_ok(&job, "dead-letter", &json!({ "reason_code": "timeout", "detail": "enough" })).await;
        server.post_ok("/api/queues/default/pause", &json!({})).await;
        server.create(json!({ "type": "a" })).await;
        let matters = |stats: &Value| column(&stats["attention"], "what");
        let both_matter = |stats: &Value| {
            let is_explained = find_row(stats, "queues", |queue| queue["paused_by"].is_string()).is_some();
            matters(stats).starts_with(&BOTH.map(Value::from)) && is_explained
        };
        let now = once(&server, "both matter", both_matter).await;
        assert_fields(
            &now["attention"][0],
            json!({ "text": "1 dead letter", "link": "/ui/errors", "severity": "warning" }),
        );
        assert!(now["attention"][0]["since"].is_string());
        let paused = now["attention"][1]["text"].as_str().unwrap();
        assert!(
            paused.starts_with("queue default is paused by ") && paused.ends_with(", with 1 ready job"),
            "{paused}"
        );
        let queue = find(&now["queues"], "name", "default");
        assert_fields(queue, json!({ "paused": true, "ready": 1, "drains_in_ms": null }));
        assert!(queue["paused_since"].is_string() && queue["paused_by"].is_string(), "{queue}");
        server.post_ok("/api/queues/default/resume", &json!({})).await;
        let dismiss = format!("/api/dead-letters/{}/dismiss", id(&job));
        server.post_ok(&dismiss, &json!({ "reason": "known" })).await;
        let is_settled = |what: &Value| !BOTH.iter().any(|other| what == other);
        once(&server, "neither matters", |stats| matters(stats).iter().all(is_settled)).await;
    });
}

#[test]
fn figures_are_by_real_type_and_a_failing_type_needs_attention() {
    on_both_stores(async |server| {
        for _ in 0..3 {
            server.create_finished(json!({ "type": "good" })).await;
            let job = server.create_claimed(json!({ "type": "bad", "user_id": "ada" })).await;
            let error = json!({ "code": "NO_INK", "message": "tank 7 is empty", "class": "permanent" });
            server.report_ok(&job, "fail", json!({ "error": error })).await;
        }
        let job = server.create_claimed(json!({ "type": "good" })).await;
        server.report_ok(&job, "fail", json!({ "error": { "code": "SLOW", "message": "again" } })).await;
        let is_reported = |stats: &Value| {
            find_row(stats, "attention", |row| row["what"] == "failing_type").is_some()
                && hour(stats, "failed") == 4
        };
        let now = once(&server, "the type is reported", is_reported).await;
        let matter = find(&now["attention"], "what", "failing_type");
        let text = "100.0 % of the jobs of type bad failed in the last hour: 3 of 3, mostly NO_INK";
        assert_fields(matter, json!({ "text": text, "severity": "critical", "link": "/ui/errors?type=bad" }));
        assert_eq!(
            (hour(&now, "succeeded"), hour(&now, "failed_jobs")),
            (3, 3),
            "the retried attempt is no failed job"
        );
        let bad = find(&now["by_type"], "type", "bad");
        assert_fields(
            bad,
            json!({ "finished": 3, "failed_jobs": 3, "failed_attempts": 3, "failure_rate": 1.0 }),
        );
        let good = find(&now["by_type"], "type", "good");
        assert_fields(
            good,
            json!({ "succeeded": 3, "failed_jobs": 0, "failed_attempts": 1, "failure_rate": 0.0 }),
        );
        assert!(good["wait_ms"]["p95"].is_u64() && good["run_ms"]["p99"].is_u64(), "{good}");
        let error = find(&now["errors"], "code", "NO_INK");
        assert_fields(
            error,
            json!({ "signature": "tank # is empty", "types": ["bad"], "users": ["ada"], "count": 3, "retried": 0 }),
        );
        assert_eq!(find(&now["errors"], "code", "SLOW")["retried"], 1);
    });
}

#[test]
fn a_restart_keeps_the_last_hour() {
    on_both_stores(async |mut server| {
        for _ in 0..3 {
            server.create_finished(json!({ "type": "a" })).await;
        }
        assert!(server.terminate().await.success());
        let server = server.restart().await;
        let first = stats(&server).await;
        assert_eq!((hour(&first, "created"), hour(&first, "finished")), (3, 3), "at once, since it said so");
        let ended = find_row(&first, "nodes", |node| node["own"] == false).expect("the process before");
        assert_eq!((&ended["life"], &first["attention"]), (&json!("stopped"), &json!([])));
        server.create_finished(json!({ "type": "a" })).await;
        let now = once(&server, "the new one counts on", |stats| hour(stats, "finished") == 4).await;
        assert_eq!(state(&now, "succeeded")["count"], 4);
    });
}

#[tokio::test]
async fn every_node_shows_the_totals_of_all_and_the_missing_nodes() {
    let one = Server::with("", Store::Postgres).await;
    let mut two = one.second_node().await;
    one.create_finished(json!({ "type": "a" })).await;
    two.create_finished(json!({ "type": "a" })).await;
    two.create_finished(json!({ "type": "a" })).await;
    for server in [&one, &two] {
        let sees_all = |stats: &Value| hour(stats, "created") == 3 && hour(stats, "finished") == 3;
        let now = once(server, "what both did is seen", sees_all).await;
        assert_eq!(column(&now["nodes"], "life"), ["live", "live"]);
        assert_eq!(now["attention"], json!([]));
    }
    two.kill();
    let is_missed = |stats: &Value| {
        find_row(stats, "attention", |row| row["what"] == "node_gone").is_some()
            && find_row(stats, "nodes", |node| node["life"] == "gone").is_some()
    };
    let now = once(&one, "a node that said nothing is missed", is_missed).await;
    assert_eq!(hour(&now, "finished"), 3, "what it did stays");
}
