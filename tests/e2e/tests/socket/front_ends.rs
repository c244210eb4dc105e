//! Front ends: which events they receive, with which names.

use serde_json::{Value, json};
use tenure_e2e::socket::{SocketClient, engine, front_end, lease_of, lease_with};
use tenure_e2e::{Server, Setup, Store, field_names, on_both_stores_with_config, on_both_stores_with_files};

use crate::engines::TYPES;

#[test]
fn an_engine_job_is_sent_with_new_and_old_names() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut front = front_end(&server, &json!({})).await;
        let mut engine = engine(&server, "e1", &["scene"], 1).await;
        for fails in [false, true] {
            let job = server.create(json!({ "type": "scene", "user_id": "u1" })).await;
            let dispatch = engine.event("job_dispatch").await;
            let end = if fails { json!({ "error": "BAD_ASSET: x.png" }) } else { json!({}) };
            let end = json!([if fails { "job_failed" } else { "job_complete" }, lease_with(&dispatch, end)]);
            let progress =
                |percent: u32| json!(["job_progress", lease_with(&dispatch, json!({ "progress": percent }))]);
            let first =
                engine.emit(&[json!(["job_ack", lease_of(&dispatch)]), progress(10), progress(90), end]);
            engine.answer(first + 3).await;
            let ended = if fails { ["JOB_FAILED", "job_failed"] } else { ["JOB_COMPLETED", "job_finished"] };
            let names = [
                ["JOB_QUEUED", "job_queued"],
                ["JOB_DISPATCHED", "job_dispatched"],
                ["JOB_RUNNING", "job_started"],
                ["JOB_PROGRESS", "job_progress"],
                ["JOB_PROGRESS", "job_progress"],
                ended,
            ];
            let now = server.job(&job).await;
            let mut answer = Vec::new();
            for [new, old] in names {
                let (name, data) = front.next_event().await;
                assert_eq!(name, new);
                assert_eq!(front.next_event().await, (old.to_owned(), data.clone()));
                assert_eq!(data["jobId"], job["id"]);
                answer.push(data);
            }
            let (id, entered) = (&job["id"], &now["entered"]);
            let expected = [
                json!({ "jobId": id, "jobType": "scene", "userId": "u1", "queuedAt": entered["queued"] }),
                json!({ "jobId": id, "engineId": "e1", "dispatchedAt": entered["dispatched"] }),
                json!({ "jobId": id, "engineId": "e1", "startedAt": now["started_at"] }),
                json!({ "jobId": id, "progress": 10 }),
                json!({ "jobId": id, "progress": 90 }),
            ];
            assert_eq!(answer[..5], expected);
            let last = &answer[5];
            if fails {
                assert_eq!(field_names(last), ["duration", "engineId", "error", "failedAt", "jobId"]);
                assert_eq!(last["error"], "BAD_ASSET: x.png");
            } else {
                assert_eq!(field_names(last), ["completedAt", "duration", "engineId", "jobId"]);
                assert_eq!(last["completedAt"], now["completed_at"]);
            }
            assert_eq!(last["duration"], now["duration_ms"]);
        }
    });
}

const WITH_OTHER: &str = r#"
lifecycles = ["other.toml"]
[types.other]
lifecycle = "other"
[types.index]
lifecycle = "distributed"
"#;

const OTHER: &str = include_str!("fixtures/other.toml");

#[test]
fn events_without_a_renaming_carry_id_type_and_state() {
    on_both_stores_with_files(&[("tenure.toml", WITH_OTHER), ("other.toml", OTHER)], async |server| {
        let mut front = front_end(&server, &json!({})).await;
        let payload = json!({ "name": "n", "big": 12_345_678_901_234_567_890_u64 });
        let job = server.create(json!({ "type": "other", "payload": payload })).await;
        let claimed = server.claim(json!({ "worker": "w1" })).await.remove(0);
        server.report(&claimed, "progress", json!({ "progress": 5 })).await.expect(200);
        server.report(&claimed, "succeed", json!({ "result": [1] })).await.expect(200);
        let id = &job["id"];
        let unnamed = |state: &str| json!({ "number": id, "type": "other", "where": state });
        let progress = json!({ "number": id, "type": "other", "where": "busy", "progress": 5 });
        let ended = json!({
            "number": id, "to": "done", "from": "busy", "trigger": "succeed", "payload.name": "n", "result": [1]
        });
        for (name, data) in [
            ("arrived", unnamed("waiting_room")),
            ("began", unnamed("busy")),
            ("job_progress", progress),
            ("ended", ended),
        ] {
            assert_eq!(front.next_event().await, (name.to_owned(), data));
        }
        // A lifecycle without an API has the standard names, and no old ones.
        let job = server.create(json!({ "type": "index" })).await;
        let answer = json!({ "id": job["id"], "type": "index", "state": "queued" });
        assert_eq!(front.next_event().await, ("job_queued".to_owned(), answer));
    });
}

/// Each event shows the job as it was at that time.
#[test]
fn many_events_arrive_in_order() {
    const JOBS: usize = 300;
    on_both_stores_with_config(TYPES, async |server| {
        let mut front = front_end(&server, &json!({})).await;
        let jobs = vec![json!({ "type": "scene" }); JOBS];
        server.post("/api/jobs/batch", &json!({ "jobs": jobs })).await.expect(200);
        let claimed = server.claim(json!({ "worker": "w1", "max": JOBS })).await;
        assert_eq!(claimed.len(), JOBS);
        for verb in ["start", "succeed"] {
            let report = |job: &Value| json!({ "job": job["id"], "fence": 1, "verb": verb });
            let reports: Vec<Value> = claimed.iter().map(report).collect();
            server.post("/api/reports", &json!({ "worker": "w1", "reports": reports })).await.expect(200);
        }
        let order = ["JOB_QUEUED", "JOB_DISPATCHED", "JOB_RUNNING", "JOB_COMPLETED"];
        let mut counts = std::collections::HashMap::<String, usize>::new();
        for _ in 0..JOBS * 8 {
            let (name, data) = front.next_event().await;
            let Some(index) = order.iter().position(|it| *it == name) else { continue };
            let seen = counts.entry(data["jobId"].as_str().unwrap().to_owned()).or_default();
            assert_eq!(*seen, index, "{name} {data}");
            *seen += 1;
            assert!(data.get("engineId").is_none_or(|it| it == "w1"));
        }
        assert!(counts.len() == JOBS && counts.values().all(|count| *count == 4));
    });
}

#[test]
fn producers_receive_only_their_jobs() {
    on_both_stores_with_config(TYPES, async |mut server: Server| {
        server.use_admin_key().await;
        let token = |key: String| json!({ "token": key });
        let mut all = front_end(&server, &token(server.create_key("viewer", None).await)).await;
        let mut mine = front_end(&server, &token(server.create_key("producer", Some("u1")).await)).await;
        let worker = server.create_key("worker", None).await;
        let mut held = front_end(&server, &token(worker.clone())).await;
        let auth = json!({ "token": worker, "engineId": "e1", "jobTypes": ["scene"] });
        let mut engine = SocketClient::connected_to(&server, "/engine", &auth).await;
        let theirs = server.create(json!({ "type": "index", "user_id": "u2" })).await;
        let own = server.create(json!({ "type": "scene", "user_id": "u1" })).await;
        engine.event("job_dispatch").await;
        assert_eq!(all.event("job_queued").await["id"], theirs["id"]);
        assert_eq!(all.event("JOB_QUEUED").await["jobId"], own["id"]);
        assert_eq!(mine.next_event().await.0, "JOB_QUEUED");
        assert_eq!(mine.next_event().await.0, "job_queued");
        assert_eq!(mine.next_event().await.0, "JOB_DISPATCHED");
        // A worker sees what it holds.
        let (name, data) = held.next_event().await;
        assert_eq!((name.as_str(), &data["jobId"]), ("JOB_DISPATCHED", &own["id"]));
    });
}

/// A front end that reads nothing does not delay others.
#[tokio::test]
async fn a_stalled_front_end_is_disconnected() {
    let carries = OTHER.replace("ended = [", "arrived = [\"id\", \"payload\"]\nended = [");
    let setup = Setup::new(Store::Sqlite).await.config(WITH_OTHER).file("other.toml", carries);
    let server = setup.start().await;
    let mut stuck = front_end(&server, &json!({})).await;
    let mut front = front_end(&server, &json!({})).await;
    stuck.suspend();
    let job = json!({ "type": "other", "payload": { "text": "x".repeat(10_000) } });
    // More than the buffers of the server and of the connection hold.
    for _ in 0..10 {
        let jobs = json!({ "jobs": vec![job.clone(); 1000] });
        server.post("/api/jobs/batch", &jobs).await.expect(200);
        for _ in 0..1000 {
            front.event("arrived").await;
        }
    }
    stuck.resume();
    stuck.disconnected().await;
    let last = server.create(json!({ "type": "index" })).await;
    assert_eq!(front.event("job_queued").await["id"], last["id"]);
}
