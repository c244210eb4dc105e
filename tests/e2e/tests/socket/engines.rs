//! Engines: dispatch, messages, and their order.

use serde_json::{Value, json};
use tenure_e2e::socket::{Language, SocketClient, engine, engine_count, engine_in, lease_of, lease_with};
use tenure_e2e::{Server, assert_fields, eventually, on_both_stores_with_config, path, rows};

/// A type of the strict lifecycle `engine`, and one whose jobs survive a lost connection.
pub(crate) const TYPES: &str = r#"
[types.scene]
lifecycle = "engine"
[types.index]
lifecycle = "distributed"
"#;

/// Waits until a job is in this state, and returns it.
pub(crate) async fn becomes(server: &Server, job: &Value, state: &str) -> Value {
    eventually(&format!("the job is {state}"), async || server.job(job).await["state"] == state).await;
    server.job(job).await
}

#[test]
fn a_job_is_pushed_acked_and_completed_by_either_client() {
    on_both_stores_with_config(TYPES, async |server| {
        for language in [Language::JavaScript, Language::Python] {
            let mut engine = engine_in(language, &server, "e1", &["scene"], 1).await;
            let new = json!({ "type": "scene", "payload": { "n": 1.10 }, "correlation_id": "c1" });
            let job = server.create(new).await;
            let dispatch = engine.event("job_dispatch").await;
            let names = json!({ "jobId": job["id"], "jobType": "scene", "correlationId": "c1" });
            assert_fields(&dispatch, names);
            assert_fields(&dispatch, json!({ "payload": { "n": 1.1 }, "attempt": 1, "fence": 1 }));
            assert!(dispatch["traceparent"].as_str().unwrap().starts_with("00-"));
            assert_eq!(dispatch.as_object().unwrap().len(), 8);
            let held = server.job(&job).await;
            assert_fields(&held, json!({ "state": "dispatched", "worker": "e1" }));
            assert_eq!(held["lease"]["expires_at"], dispatch["leaseExpiresAt"]);
            engine.report("job_ack", lease_of(&dispatch)).await;
            assert_eq!(server.job(&job).await["state"], "running");
            let progress = lease_with(&dispatch, json!({ "progress": 40, "message": "half" }));
            engine.report("job_progress", progress).await;
            assert_eq!(server.job(&job).await["progress"], 40.0);
            let done = lease_with(&dispatch, json!({ "result": { "url": "x" } }));
            engine.report("job_complete", done.clone()).await;
            // The repeat is a replay.
            engine.report("job_complete", done).await;
            let job = server.job(&job).await;
            assert_fields(&job, json!({ "state": "completed", "result": { "url": "x" } }));
            engine.disconnect();
        }
    });
}

#[test]
fn both_transports_work() {
    on_both_stores_with_config(TYPES, async |server| {
        for transport in ["polling", "websocket"] {
            let auth = json!({ "engineId": "e1", "jobTypes": ["scene"] });
            let mut engine = SocketClient::new(Language::JavaScript);
            engine.connect_by(&server, "/engine", &auth, &[transport]);
            engine.connected().await;
            let (job, dispatch) = engine.dispatched(&server, "scene").await;
            let lease = lease_of(&dispatch);
            engine.report_all(&[json!(["job_ack", lease]), json!(["job_complete", lease])]).await;
            assert_eq!(server.job(&job).await["state"], "completed");
            engine.disconnect();
        }
    });
}

/// Messages on one job are never reordered, however many arrive at once and whatever other messages are between them.
#[test]
fn messages_of_an_engine_are_applied_in_order() {
    const JOBS: usize = 12;
    const STEPS: usize = 15;
    on_both_stores_with_config(TYPES, async |server| {
        let mut engine = engine(&server, "e1", &["scene"], JOBS).await;
        for _ in 0..3 {
            let (mut jobs, mut dispatches) = (Vec::new(), Vec::new());
            for _ in 0..JOBS {
                let (job, dispatch) = engine.dispatched(&server, "scene").await;
                jobs.push(job);
                dispatches.push(dispatch);
            }
            let mut events: Vec<Value> =
                dispatches.iter().map(|it| json!(["job_ack", lease_of(it)])).collect();
            for step in 1..=STEPS {
                let said = |it: &Value| json!(["job_progress", lease_with(it, json!({ "progress": step }))]);
                events.extend(dispatches.iter().map(said));
                events.push(json!(["heartbeat", {}]));
            }
            events.extend(dispatches.iter().map(|it| json!(["job_complete", lease_of(it)])));
            engine.report_all(&events).await;
            for job in &jobs {
                let answer = server.read(&path(job, "events?telemetry=true")).await;
                let progress = rows(&answer["events"]).iter().filter(|it| it["type"] == "job_progress");
                let progress = progress.map(|it| it["payload"]["progress"].as_f64().unwrap());
                let said: Vec<f64> = (1..=STEPS).map(|step| step as f64).collect();
                assert_eq!(progress.collect::<Vec<_>>(), said);
                assert_eq!(server.job(job).await["state"], "completed");
            }
        }
    });
}

#[test]
fn an_engine_gets_no_more_than_its_capacity() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut engine = engine(&server, "e1", &["scene"], 2).await;
        for _ in 0..5 {
            server.create(json!({ "type": "scene" })).await;
        }
        let mut held = vec![engine.event("job_dispatch").await, engine.event("job_dispatch").await];
        let count = async |state: &str| server.list(&format!("state={state}")).await.len();
        for queued in [2, 1, 0] {
            engine.report("heartbeat", json!({})).await;
            assert!(engine.unread_events().is_empty());
            assert_eq!((count("dispatched").await, count("queued").await), (2, queued + 1));
            let done = held.remove(0);
            engine.report("job_ack", lease_of(&done)).await;
            engine.report("job_complete", lease_of(&done)).await;
            held.push(engine.event("job_dispatch").await);
        }
    });
}

#[test]
fn progress_of_a_job_that_was_not_acked_starts_it() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut engine = engine(&server, "e1", &["scene"], 1).await;
        let (job, dispatch) = engine.dispatched(&server, "scene").await;
        let bad = lease_with(&dispatch, json!({ "progress": 101 }));
        assert_eq!(engine.ask("job_progress", bad).await["error"]["code"], "malformed");
        assert_eq!(server.job(&job).await["state"], "dispatched");
        let progress =
            |percent: u32| json!(["job_progress", lease_with(&dispatch, json!({ "progress": percent }))]);
        let complete = json!(["job_complete", lease_of(&dispatch)]);
        engine.report_all(&[progress(10), progress(20), complete]).await;
        assert_fields(&server.job(&job).await, json!({ "state": "completed", "seq": 4 }));
    });
}

#[test]
fn a_failure_is_an_object_or_a_string() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut engine = engine(&server, "e1", &["scene"], 1).await;
        let object = json!({ "code": "BAD_ASSET", "message": "corrupted_texture.png", "stage": "fetch" });
        for (said, code, message, stage) in [
            (object, "BAD_ASSET", "corrupted_texture.png", json!("fetch")),
            (json!("BAD_ASSET: corrupted_texture.png"), "BAD_ASSET", "corrupted_texture.png", json!(null)),
            (json!("it: broke: twice"), "it", "broke: twice", json!(null)),
            (json!("out of memory"), "FAILED", "out of memory", json!(null)),
        ] {
            let (job, dispatch) = engine.dispatched(&server, "scene").await;
            let failed = lease_with(&dispatch, json!({ "error": said }));
            // A job that does not run cannot fail.
            let refused = &engine.ask("job_failed", failed.clone()).await["error"];
            assert_fields(refused, json!({ "code": "invalid_transition", "current_state": "dispatched" }));
            engine.report("job_ack", lease_of(&dispatch)).await;
            engine.report("job_failed", failed).await;
            let job = server.job(&job).await;
            assert_eq!(job["state"], "failed");
            let error = json!({ "code": code, "message": message, "category": "engine", "stage": stage });
            assert_fields(&job["error"], error);
        }
    });
}

#[test]
fn a_heartbeat_renews_every_lease() {
    let types = format!("{TYPES}lease = \"60s\"\nheartbeat = \"5s\"\n");
    on_both_stores_with_config(&types, async |server| {
        let mut engine = engine(&server, "e1", &["index"], 3).await;
        let mut jobs = Vec::new();
        for _ in 0..3 {
            jobs.push(engine.dispatched(&server, "index").await.0);
        }
        let expiry = async |job: &Value| server.job(job).await["lease"]["expires_at"].to_string();
        for _ in 0..3 {
            for job in &jobs {
                let before = expiry(job).await;
                engine.report("heartbeat", json!({})).await;
                assert!(expiry(job).await > before);
            }
        }
    });
}

#[test]
fn a_released_job_is_dispatched_again() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut engine = engine(&server, "e1", &["index"], 1).await;
        let (job, dispatch) = engine.dispatched(&server, "index").await;
        engine.report("job_release", lease_of(&dispatch)).await;
        let again = engine.event("job_dispatch").await;
        assert_fields(&again, json!({ "jobId": job["id"], "fence": 2 }));
        // The old fence is no longer valid.
        let late = engine.ask("job_ack", lease_of(&dispatch)).await;
        assert_fields(&late["error"], json!({ "code": "lease_conflict", "cause": "superseded" }));
        engine.report("job_ack", lease_of(&again)).await;
        engine.report("job_complete", lease_of(&again)).await;
        assert_eq!(server.job(&job).await["state"], "succeeded");
    });
}

#[test]
fn a_connected_engine_is_listed_as_a_worker() {
    on_both_stores_with_config(TYPES, async |server| {
        assert_eq!(engine_count(&server).await, 0);
        let mut engine = engine(&server, "e1", &["scene"], 1).await;
        eventually("the engine is counted", async || engine_count(&server).await == 1).await;
        let workers = server.read("/api/workers").await;
        assert_eq!(workers["workers"][0]["name"], "e1");
        engine.disconnect();
        eventually("the engine is gone", async || engine_count(&server).await == 0).await;
    });
}

/// When the node stops, the engine keeps its jobs.
#[test]
fn an_engine_continues_after_a_restart_of_the_node() {
    on_both_stores_with_config(TYPES, async |mut server: Server| {
        let mut before = engine(&server, "e1", &["scene"], 2).await;
        let (job, dispatch) = before.running(&server, "scene").await;
        assert!(server.terminate().await.success());
        assert!(before.disconnected().await.contains("transport"));
        let server = server.restart().await;
        assert_eq!(server.job(&job).await["state"], "running");
        let mut after = engine(&server, "e1", &["scene"], 2).await;
        after.report("job_complete", lease_of(&dispatch)).await;
        assert_eq!(becomes(&server, &job, "completed").await["worker"], "e1");
    });
}
