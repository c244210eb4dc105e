//! Engines at work: what is dispatched, what they say, and in which order it counts.

use serde_json::{Value, json};

use crate::harness::{Server, both, both_with, eventually};
use crate::peer::{Language, Peer, engine, engine_in, hold, hold_and, ok};

/// Types of the built-in lifecycle for engines.
pub(crate) const SCENES: &str =
    "[types.scene]\nlifecycle = \"engine\"\n[types.asset]\nlifecycle = \"engine\"\n";

async fn is(server: &Server, job: &Value, state: &str) -> Value {
    eventually(&format!("the job is {state}"), async || server.job(job).await["state"] == state).await;
    server.job(job).await
}

#[tokio::test]
async fn a_job_is_pushed_acked_and_completed_by_either_client() {
    both_with(SCENES, async |server| {
        for language in [Language::JavaScript, Language::Python] {
            let mut engine = engine_in(language, &server, "e1", (&["scene"], 1)).await;
            let new =
                json!({ "type": "scene", "user_id": "u1", "payload": { "n": 1.10 }, "correlation_id": "c1" });
            let job = server.create(new).await;
            let dispatch = engine.event("job_dispatch").await;
            assert_eq!(dispatch["jobId"], job["id"]);
            assert_eq!(dispatch["jobType"], "scene");
            assert_eq!(dispatch["payload"], json!({ "n": 1.1 }));
            assert_eq!((&dispatch["attempt"], &dispatch["fence"]), (&json!(1), &json!(1)));
            assert_eq!(dispatch["correlationId"], "c1");
            assert!(dispatch["traceparent"].as_str().unwrap().starts_with("00-"));
            let held = server.job(&job).await;
            assert_eq!((&held["state"], &held["worker"]), (&json!("dispatched"), &json!("e1")));
            assert_eq!(held["lease"]["expires_at"], dispatch["leaseExpiresAt"]);
            assert_eq!(engine.ask("job_ack", hold(&dispatch)).await, ok());
            assert_eq!(server.job(&job).await["state"], "running");
            let progress = hold_and(&dispatch, json!({ "progress": 40, "message": "half" }));
            assert_eq!(engine.ask("job_progress", progress).await, ok());
            assert_eq!(server.job(&job).await["progress"], 40.0);
            let done = hold_and(&dispatch, json!({ "result": { "url": "x" } }));
            assert_eq!(engine.ask("job_complete", done.clone()).await, ok());
            // The repeat is a replay.
            assert_eq!(engine.ask("job_complete", done).await, ok());
            let job = server.job(&job).await;
            assert_eq!((&job["state"], &job["result"]), (&json!("completed"), &json!({ "url": "x" })));
            engine.leave();
        }
    })
    .await;
}
