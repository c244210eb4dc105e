//! Two keys with the same engine id: each has its own jobs, and neither affects the other.

use serde_json::{Value, json};
use tenure_e2e::socket::{SocketClient, engine_count, lease_of, lease_with};
use tenure_e2e::{Server, Store, merged, on_both_stores_with_config};

use crate::engines::{TYPES, becomes};

fn auth(key: &str, engine: &str, job_type: &str) -> Value {
    json!({ "token": key, "engineId": engine, "jobTypes": [job_type], "capacity": 2 })
}

/// Checks that an engine can report nothing about a job that was dispatched to another one.
async fn assert_refused(engine: &mut SocketClient, dispatch: &Value) {
    let events = json!({
        "job_ack": {}, "job_progress": { "progress": 10 }, "job_complete": {}, "job_failed": { "error": "X: y" },
        "job_cancelled": {}, "job_release": {},
    });
    for (event, more) in events.as_object().unwrap() {
        let answer = engine.ask(event, merged(lease_of(dispatch), more)).await;
        assert_eq!(answer["error"]["code"], "lease_conflict", "{event}: {answer}");
        assert_eq!(answer["error"]["cause"], "wrong_worker", "{event}: {answer}");
    }
    engine.report("heartbeat", json!({})).await;
    assert!(engine.unread_events().is_empty());
}

#[test]
fn another_key_with_the_same_engine_id_gets_none_of_its_jobs() {
    on_both_stores_with_config(TYPES, async |mut server: Server| {
        server.use_admin_key().await;
        let (mine, others) =
            (server.create_key("worker", None).await, server.create_key("worker", None).await);
        let mut engine = SocketClient::connected_to(&server, "/engine", &auth(&mine, "e1", "scene")).await;
        let (job, dispatch) = engine.dispatched(&server, "scene").await;
        let mut other = SocketClient::connected_to(&server, "/engine", &auth(&others, "e1", "index")).await;
        assert_refused(&mut other, &dispatch).await;
        let (its_job, its_dispatch) = other.dispatched(&server, "index").await;
        assert_refused(&mut engine, &its_dispatch).await;
        engine.report("job_ack", lease_of(&dispatch)).await;
        other.disconnect();
        other.disconnected().await;
        let progress = lease_with(&dispatch, json!({ "progress": 40 }));
        engine.report("job_progress", progress).await;
        engine.report("job_complete", lease_of(&dispatch)).await;
        becomes(&server, &job, "completed").await;
        // The other engine has its own jobs again when it returns.
        let mut other = SocketClient::connected_to(&server, "/engine", &auth(&others, "e1", "index")).await;
        other.report("job_ack", lease_of(&its_dispatch)).await;
        other.report("job_complete", lease_of(&its_dispatch)).await;
        becomes(&server, &its_job, "succeeded").await;
    });
}

#[tokio::test]
async fn another_key_on_another_node_neither_replaces_an_engine_nor_gets_its_jobs() {
    let mut here = Server::with(TYPES, Store::Postgres).await;
    here.use_admin_key().await;
    let (mine, others) = (here.create_key("worker", None).await, here.create_key("worker", None).await);
    let there = here.second_node().await;
    let mut engine = SocketClient::connected_to(&here, "/engine", &auth(&mine, "e1", "scene")).await;
    let mut witness = SocketClient::connected_to(&here, "/engine", &auth(&mine, "e2", "other")).await;
    let (job, dispatch) = engine.running(&there, "scene").await;
    let mut other = SocketClient::connected_to(&there, "/engine", &auth(&others, "e1", "index")).await;
    assert_refused(&mut other, &dispatch).await;
    // A connection with the same key is replaced meanwhile.
    for node in [&there, &here, &there] {
        let next = SocketClient::connected_to(node, "/engine", &auth(&mine, "e2", "other")).await;
        assert!(witness.disconnected().await.contains("server"));
        witness = next;
    }
    assert_eq!(engine_count(&here).await, 1);
    engine.report("job_complete", lease_of(&dispatch)).await;
    becomes(&there, &job, "completed").await;
    here.setup().verify();
}
