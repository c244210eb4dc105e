//! Cancels are pushed to the engine that holds the job.

use serde_json::json;
use tenure_e2e::socket::{engine, lease_of, lease_with};
use tenure_e2e::{assert_fields, on_both_stores_with_config};

use crate::engines::{TYPES, becomes};

#[test]
fn a_soft_cancel_is_pushed_and_confirmed() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut engine = engine(&server, "e1", &["index"], 1).await;
        let (job, dispatch) = engine.running(&server, "index").await;
        // No cancel is requested yet.
        let early = engine.ask("job_cancelled", lease_of(&dispatch)).await;
        assert_eq!(early["error"]["code"], "invalid_transition");
        server.call(&job, "cancel", &json!({ "reason": "enough" })).await.expect(200);
        assert_eq!(engine.event("job_cancel").await, lease_with(&dispatch, json!({ "mode": "soft" })));
        // It is pushed once.
        server.call(&job, "cancel", &json!({})).await.expect(200);
        engine.report("heartbeat", json!({})).await;
        assert!(engine.unread_events().is_empty());
        let confirmed = lease_with(&dispatch, json!({ "checkpoint": { "at": 3 } }));
        engine.report("job_cancelled", confirmed).await;
        assert_fields(&server.job(&job).await, json!({ "state": "cancelled", "checkpoint": { "at": 3 } }));
        assert!(engine.unread_events().is_empty());
    });
}

#[test]
fn the_cancel_by_a_newer_job_with_the_same_unique_key_is_pushed() {
    let unique = "unique = { key = \"type\", among = \"unfinished\", on_conflict = \"cancel\" }\n";
    on_both_stores_with_config(&format!("{TYPES}{unique}"), async |server| {
        let mut engine = engine(&server, "e1", &["index"], 1).await;
        let (job, dispatch) = engine.dispatched(&server, "index").await;
        server.create(json!({ "type": "index" })).await;
        assert_eq!(engine.event("job_cancel").await, lease_with(&dispatch, json!({ "mode": "soft" })));
        assert_eq!(server.job(&job).await["cancel_requested"]["mode"], "soft");
    });
}

#[test]
fn a_hard_cancel_is_pushed_and_frees_capacity() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut engine = engine(&server, "e1", &["index"], 1).await;
        let (job, dispatch) = engine.dispatched(&server, "index").await;
        server.call(&job, "cancel", &json!({ "mode": "hard" })).await.expect(200);
        assert_eq!(engine.event("job_cancel").await, lease_with(&dispatch, json!({ "mode": "hard" })));
        let late = engine.ask("job_complete", lease_of(&dispatch)).await;
        assert_fields(&late["error"], json!({ "code": "lease_conflict", "cause": "revoked" }));
        let next = server.create(json!({ "type": "index" })).await;
        assert_eq!(engine.event("job_dispatch").await["jobId"], next["id"]);
    });
}

#[test]
fn an_unconfirmed_soft_cancel_becomes_hard() {
    let types = format!("{TYPES}cancel_grace = \"1s\"\n");
    on_both_stores_with_config(&types, async |server| {
        let mut engine = engine(&server, "e1", &["index"], 1).await;
        let (job, dispatch) = engine.dispatched(&server, "index").await;
        server.call(&job, "cancel", &json!({})).await.expect(200);
        assert_eq!(engine.event("job_cancel").await, lease_with(&dispatch, json!({ "mode": "soft" })));
        assert_eq!(engine.event("job_cancel").await, lease_with(&dispatch, json!({ "mode": "hard" })));
        becomes(&server, &job, "cancelled").await;
    });
}

#[test]
fn a_lifecycle_without_cancels_refuses_them() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut engine = engine(&server, "e1", &["scene"], 1).await;
        let (job, _) = engine.dispatched(&server, "scene").await;
        let refused = server.call(&job, "cancel", &json!({ "mode": "hard" })).await.expect(409);
        assert_eq!(refused["code"], "invalid_transition");
        engine.report("heartbeat", json!({})).await;
        assert!(engine.unread_events().is_empty());
    });
}
