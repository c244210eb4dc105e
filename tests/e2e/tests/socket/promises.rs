//! The failures of the engine description: each ends in a declared state, with an error, an event for front
//! ends and a metric.

use serde_json::{Value, json};
use tenure_e2e::socket::{SocketClient, engine, front_end, lease_of, lease_with};
use tenure_e2e::{Server, assert_fields, on_both_stores_with_config};

use crate::engines::becomes;

const TYPES: &str = r#"
[types.LOAD_ASSETS]
lifecycle = "engine"
[types.SPAWN_ENTITY]
lifecycle = "engine"
schema = { type = "object", required = ["entity"], properties = { entity = { type = "string" } } }
[types.BUILD_SCENE]
lifecycle = "engine"
timeouts = { running = "1s" }
"#;
const ALL: [&str; 3] = ["LOAD_ASSETS", "SPAWN_ENTITY", "BUILD_SCENE"];

struct Stage {
    server: Server,
    engine: SocketClient,
    front: SocketClient,
}

impl Stage {
    async fn set(server: Server) -> Self {
        let front = front_end(&server, &json!({})).await;
        let engine = engine(&server, "engine_local_01", &ALL, 1).await;
        Self { server, engine, front }
    }

    /// A running job and its dispatch.
    async fn running(&mut self, job_type: &str, payload: Value) -> (Value, Value) {
        let new = json!({ "type": job_type, "payload": payload, "user_id": "user_123" });
        let job = self.server.create(new).await;
        let dispatch = self.engine.event("job_dispatch").await;
        self.engine.report("job_ack", lease_of(&dispatch)).await;
        (job, dispatch)
    }

    /// Checks state, error, front end event and metric of the failed job.
    async fn has_failed(&mut self, job: &Value, code: &str, category: &str) {
        let failed = becomes(&self.server, job, "failed").await;
        assert_fields(&failed["error"], json!({ "code": code, "category": category }));
        let answer = self.front.event("JOB_FAILED").await;
        assert_fields(&answer, json!({ "jobId": job["id"], "engineId": "engine_local_01" }));
        assert!(answer["error"].as_str().unwrap().starts_with(code));
        let times = json!({ "duration": failed["duration_ms"], "failedAt": failed["completed_at"] });
        assert_fields(&answer, times);
        let counted = self.server.metrics_text().await;
        let of = format!("category=\"{category}\",class=\"transient\",type={}", job["type"]);
        assert!(counted.contains(&format!("tenure_failures_total{{{of}}} 1")), "{of}");
    }
}

#[test]
fn a_bad_asset_reference_fails_the_job() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut stage = Stage::set(server).await;
        let (job, dispatch) = stage.running("LOAD_ASSETS", json!({ "asset": "corrupted_texture.png" })).await;
        let error = json!({ "error": "BAD_ASSET: corrupted_texture.png" });
        stage.engine.report("job_failed", lease_with(&dispatch, error)).await;
        stage.has_failed(&job, "BAD_ASSET", "engine").await;
    });
}

#[test]
fn invalid_entity_data_fails_the_job() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut stage = Stage::set(server).await;
        // A payload that violates the schema is refused before it is queued.
        let refused = stage.server.post("/api/jobs", &json!({ "type": "SPAWN_ENTITY", "payload": {} })).await;
        assert_eq!(refused.expect(422)["code"], "validation_failed");
        let (job, dispatch) = stage.running("SPAWN_ENTITY", json!({ "entity": "no such mesh" })).await;
        let error =
            json!({ "error": { "code": "INVALID_ENTITY", "message": "no such mesh", "stage": "input" } });
        stage.engine.report("job_failed", lease_with(&dispatch, error)).await;
        stage.has_failed(&job, "INVALID_ENTITY", "engine").await;
    });
}

#[test]
fn an_engine_that_takes_too_long_fails_the_job() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut stage = Stage::set(server).await;
        let (job, dispatch) = stage.running("BUILD_SCENE", json!({})).await;
        stage.has_failed(&job, "RUN_TIMEOUT", "engine").await;
        let late = stage.engine.ask("job_complete", lease_of(&dispatch)).await;
        assert_fields(&late["error"], json!({ "code": "lease_conflict", "cause": "revoked" }));
    });
}

#[test]
fn a_network_failure_fails_the_job() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut stage = Stage::set(server).await;
        let (job, _) = stage.running("LOAD_ASSETS", json!({})).await;
        stage.engine.kill();
        stage.has_failed(&job, "WORKER_DISCONNECTED", "queue").await;
    });
}
