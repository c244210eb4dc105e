//! Two nodes on one PostgreSQL: an engine at one, its front end and its canceller at the other.

use serde_json::json;

use crate::engines::{TYPES, becomes};
use crate::harness::{Server, Store, path};
use crate::peer::{engine, front_end, hold, hold_and, ok};

#[tokio::test]
async fn what_happens_at_one_node_is_heard_at_the_other() {
    let here = Server::with(TYPES, Store::Postgres).await;
    let there = here.second_node().await;
    let mut front = front_end(&there, &json!({})).await;
    let mut engine = engine(&here, "e1", &["scene"], 1).await;
    let job = there.create(json!({ "type": "scene" })).await;
    let dispatch = engine.event("job_dispatch").await;
    assert_eq!(engine.ask("job_ack", hold(&dispatch)).await, ok());
    let progress = hold_and(&dispatch, json!({ "progress": 40 }));
    assert_eq!(engine.ask("job_progress", progress).await, ok());
    assert_eq!(front.event("JOB_PROGRESS").await, json!({ "jobId": job["id"], "progress": 40 }));
    assert_eq!(engine.ask("job_complete", hold(&dispatch)).await, ok());
    for name in ["JOB_QUEUED", "JOB_DISPATCHED", "JOB_RUNNING", "JOB_COMPLETED"] {
        assert_eq!(front.event(name).await["jobId"], job["id"]);
    }
    here.setup().verify();
}

#[tokio::test]
async fn a_cancel_at_one_node_is_pushed_at_the_other() {
    let here = Server::with(TYPES, Store::Postgres).await;
    let there = here.second_node().await;
    let mut engine = engine(&here, "e1", &["index"], 1).await;
    for mode in ["soft", "hard"] {
        let job = there.create(json!({ "type": "index" })).await;
        let dispatch = engine.event("job_dispatch").await;
        there.post(&path(&job, "cancel"), &json!({ "mode": mode })).await.expect(200);
        assert_eq!(engine.event("job_cancel").await, hold_and(&dispatch, json!({ "mode": mode })));
        if mode == "soft" {
            assert_eq!(engine.ask("job_cancelled", hold(&dispatch)).await, ok());
        }
        becomes(&there, &job, "cancelled").await;
    }
    here.setup().verify();
}

/// The same engine at two nodes never holds a job twice, and together has no more than its room.
#[tokio::test]
async fn an_engine_that_comes_to_another_node_goes_on_there() {
    let mut here = Server::with(TYPES, Store::Postgres).await;
    let there = here.second_node().await;
    let mut before = engine(&here, "e1", &["scene"], 1).await;
    let job = there.create(json!({ "type": "scene" })).await;
    let dispatch = before.event("job_dispatch").await;
    assert_eq!(before.ask("job_ack", hold(&dispatch)).await, ok());
    let mut after = engine(&there, "e1", &["scene"], 1).await;
    there.create(json!({ "type": "scene" })).await;
    assert_eq!(after.ask("heartbeat", json!({})).await, ok());
    assert!(after.unasked().is_empty());
    assert!(here.terminate().await.success());
    assert_eq!(after.ask("job_complete", hold(&dispatch)).await, ok());
    assert_eq!(becomes(&there, &job, "completed").await["worker"], "e1");
    after.event("job_dispatch").await;
}
