//! so1: a queue, a worker, and one of three final states.

use serde_json::{Value, json};
use tenure_e2e::{Server, assert_fields, column, on_both_stores_with_config, path};

use super::{assert_timestamps, check_transitions, claim, new_job};

const CONFIG: &str = "[types.parcel]\nlifecycle = \"so1\"\n";

#[test]
fn the_documented_transitions_happen_and_all_others_are_refused() {
    check_transitions(CONFIG, "parcel", include_str!("so1.txt"));
}

async fn running(server: &Server) -> Value {
    let job = new_job(server, "parcel", json!({})).await;
    claim(server, &job, "courier").await.remove(0)
}

#[test]
fn times_are_set_on_creation_on_pickup_and_in_each_final_state() {
    on_both_stores_with_config(CONFIG, async |server| {
        let fresh = server.post("/api/jobs", &json!({ "type": "parcel" })).await.expect(202);
        assert_eq!(fresh["state"], "pending");
        assert!(fresh["created_at"].is_string());
        assert_fields(&fresh, json!({ "started_at": null, "completed_at": null }));
        let waiting = new_job(&server, "parcel", json!({})).await;
        let recalled = server.call_ok(&waiting, "cancel", &json!({})).await;
        assert_fields(&recalled, json!({ "state": "cancelled", "started_at": null }));
        let claimed = running(&server).await;
        let started_at = &claimed["entered"]["running"];
        assert_fields(&claimed, json!({ "state": "running", "started_at": started_at }));
        assert_fields(&claimed, json!({ "completed_at": null }));
        let stopped = server.call_ok(&claimed, "cancel", &json!({ "mode": "hard" })).await;
        let claimed = running(&server).await;
        let done = server.succeed(&claimed).await;
        let claimed = running(&server).await;
        let broken = server.report_ok(&claimed, "fail", json!({ "error": { "code": "E" } })).await;
        assert_eq!(broken["error"]["code"], "E", "the error is captured");
        for finished in [recalled, stopped, done, broken] {
            assert!(finished["completed_at"].is_string(), "{finished}");
            assert_timestamps(&finished);
        }
    });
}

#[test]
fn a_cancel_signals_the_worker_only_after_the_start() {
    on_both_stores_with_config(CONFIG, async |server| {
        let job = new_job(&server, "parcel", json!({})).await;
        server.call_ok(&job, "cancel", &json!({})).await;
        assert_eq!(claim(&server, &job, "courier").await, Vec::<Value>::new());
        assert_eq!(server.column(&path(&job, "events"), "type").await, ["created", "cancelled"]);
        let claimed = running(&server).await;
        let asked = server.call_ok(&claimed, "cancel", &json!({ "mode": "soft" })).await;
        assert_eq!(asked["state"], "running", "the worker is asked first");
        assert_eq!(server.report_ok(&claimed, "heartbeat", json!({})).await["cancel"], "soft");
        assert_eq!(server.report_ok(&claimed, "cancel-confirm", json!({})).await["state"], "cancelled");
    });
}

#[test]
fn a_retry_of_a_failed_job_is_a_new_job_and_the_failed_one_stays() {
    on_both_stores_with_config(CONFIG, async |server| {
        let claimed = running(&server).await;
        let failed = server.report_ok(&claimed, "fail", json!({ "error": {} })).await;
        let again = server.call(&failed, "retry", &json!({})).await.expect(202);
        assert_ne!(again["id"], failed["id"]);
        assert_fields(&again, json!({ "retry_of": failed["id"], "state": "pending" }));
        let claimed = claim(&server, &again, "courier").await.remove(0);
        server.succeed(&claimed).await;
        assert_eq!(server.job(&failed).await, failed);
    });
}

#[test]
fn the_same_idempotency_key_creates_one_job() {
    on_both_stores_with_config(CONFIG, async |server| {
        let body = json!({ "type": "parcel", "payload": { "to": "Bern" } });
        let ask = async || server.post_keyed("so1-009", "/api/jobs", &body).await;
        let (first, second) = (ask().await, ask().await);
        assert_eq!(first.expect(202)["id"], second.expect_replay()["id"]);
    });
}

#[test]
fn the_stream_sends_logs_then_one_status_with_the_output_and_closes() {
    on_both_stores_with_config(CONFIG, async |server| {
        let claimed = running(&server).await;
        let stream = server.stream(&path(&claimed, "stream"), None).await;
        for text in ["one", "two"] {
            server.report_ok(&claimed, "logs", json!({ "lines": [{ "text": text }] })).await;
        }
        server.report_ok(&claimed, "succeed", json!({ "result": { "run": 7 } })).await;
        let received = stream.rest().await;
        let kinds: Vec<&str> = received.iter().map(|it| it.event.as_str()).collect();
        assert_eq!(kinds, ["log", "log", "status"], "one status, and then it is closed");
        assert_fields(&received[2].data, json!({ "state": "success", "output": { "run": 7 } }));
    });
}

#[test]
fn logs_are_append_only_and_kept_after_the_end() {
    on_both_stores_with_config(CONFIG, async |server| {
        let claimed = running(&server).await;
        let append = async |text: &str| {
            server.call_ok(&claimed, "logs", &json!({ "lines": [{ "text": text }] })).await;
            server.rows(&path(&claimed, "logs")).await
        };
        let first = append("picked up").await;
        let second = append("on the way").await;
        assert_eq!(second[..1], first, "what is written stays as it is");
        for method in ["PUT", "PATCH", "DELETE"] {
            server.request(method, &path(&claimed, "logs")).send().await.problem(405, "method_not_allowed");
        }
        server.succeed(&claimed).await;
        let third = append("signed for").await;
        assert_eq!((&third[..2], third.len()), (&second[..], 3), "also beyond the end");
        assert_eq!(column(&json!(third), "n"), [1, 2, 3]);
    });
}
