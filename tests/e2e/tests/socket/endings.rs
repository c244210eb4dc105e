//! How an engine loses its jobs: it disconnects, it is replaced, or a timeout fires.

use serde_json::{Value, json};
use tenure_e2e::socket::{SocketClient, engine, engine_count, lease_of};
use tenure_e2e::{Server, eventually, on_both_stores_with_config};

use crate::engines::{TYPES, becomes};

/// An engine with a running job, and the job.
async fn running(server: &Server, job_type: &str) -> (SocketClient, Value, Value) {
    let mut engine = engine(server, "e1", &[job_type], 1).await;
    let (job, dispatch) = engine.running(server, job_type).await;
    (engine, job, dispatch)
}

fn error(job: &Value) -> (&str, &str) {
    (job["error"]["code"].as_str().unwrap(), job["error"]["category"].as_str().unwrap())
}

#[test]
fn jobs_of_a_disconnected_engine_fail_at_once() {
    on_both_stores_with_config(TYPES, async |server| {
        for leaves in [SocketClient::disconnect, SocketClient::kill] {
            let (mut engine, job, _) = running(&server, "scene").await;
            leaves(&mut engine);
            let job = becomes(&server, &job, "failed").await;
            assert_eq!(error(&job), ("WORKER_DISCONNECTED", "queue"));
        }
        // A job that was dispatched and not acked, too.
        let mut engine = engine(&server, "e1", &["scene"], 1).await;
        let (job, _) = engine.dispatched(&server, "scene").await;
        engine.disconnect();
        assert_eq!(error(&becomes(&server, &job, "failed").await), ("WORKER_DISCONNECTED", "queue"));
    });
}

#[test]
fn the_last_message_before_a_disconnect_is_applied() {
    on_both_stores_with_config(TYPES, async |server| {
        for _ in 0..10 {
            let (mut engine, job, dispatch) = running(&server, "scene").await;
            engine.emit_and_disconnect(&json!(["job_complete", lease_of(&dispatch)]));
            eventually("the job is over", async || server.job(&job).await["phase"] == "final").await;
            assert_eq!(server.job(&job).await["state"], "completed");
        }
    });
}

#[test]
fn without_a_rule_a_lost_connection_changes_nothing() {
    on_both_stores_with_config(TYPES, async |server| {
        let (mut before, job, dispatch) = running(&server, "index").await;
        before.kill();
        eventually("the engine is gone", async || engine_count(&server).await == 0).await;
        assert_eq!(server.job(&job).await["state"], "running");
        // After the reconnect the job is still its own and counts towards its capacity.
        let mut after = engine(&server, "e1", &["index"], 1).await;
        let next = server.create(json!({ "type": "index" })).await;
        after.report("heartbeat", json!({})).await;
        assert_eq!(server.job(&next).await["state"], "queued");
        after.report("job_complete", lease_of(&dispatch)).await;
        assert_eq!(after.event("job_dispatch").await["jobId"], next["id"]);
    });
}

#[test]
fn a_second_connection_of_the_same_engine_replaces_the_first() {
    on_both_stores_with_config(TYPES, async |server| {
        let (mut first, job, dispatch) = running(&server, "scene").await;
        let mut second = engine(&server, "e1", &["scene"], 1).await;
        assert!(first.disconnected().await.contains("server"));
        assert_eq!(error(&becomes(&server, &job, "failed").await), ("WORKER_DISCONNECTED", "queue"));
        let late = second.ask("job_complete", lease_of(&dispatch)).await;
        assert_eq!(late["error"]["code"], "lease_conflict");
        let next = server.create(json!({ "type": "scene" })).await;
        assert_eq!(second.event("job_dispatch").await["jobId"], next["id"]);
        // Another name is another engine.
        let mut other = engine(&server, "e2", &["scene"], 1).await;
        other.report("heartbeat", json!({})).await;
        second.report("heartbeat", json!({})).await;
    });
}

const SHORT: &str = include_str!("fixtures/endings.toml");

#[test]
fn every_state_has_its_timeout_and_category() {
    on_both_stores_with_config(SHORT, async |server| {
        let job = server.create(json!({ "type": "queued" })).await;
        assert_eq!(error(&becomes(&server, &job, "failed").await), ("QUEUE_TIMEOUT", "queue"));
        let mut engine = engine(&server, "e1", &["dispatched", "running", "lost"], 1).await;
        for (job_type, acked, answer) in [
            ("dispatched", false, ("DISPATCH_TIMEOUT", "system")),
            ("running", true, ("RUN_TIMEOUT", "engine")),
            ("lost", true, ("HEARTBEAT_LOST", "system")),
        ] {
            // It is dispatched although the engine has a capacity of one and has not answered the last: lost jobs do
            // not count.
            let (job, dispatch) = engine.dispatched(&server, job_type).await;
            if acked {
                engine.report("job_ack", lease_of(&dispatch)).await;
            }
            assert_eq!(error(&becomes(&server, &job, "failed").await), answer);
            let late = engine.ask("job_complete", lease_of(&dispatch)).await;
            assert_eq!(late["error"]["code"], "lease_conflict");
        }
    });
}
