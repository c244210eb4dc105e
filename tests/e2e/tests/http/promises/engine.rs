//! engine: strict dispatch with a timeout in every state, over HTTP. The same over the socket is in `tests/socket`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tenure_e2e::{Server, assert_fields, find, id, millis, on_both_stores_with_config, path};

use super::{assert_timestamps, check_transitions, claim, claim_started, new_job};

const CONFIG: &str = include_str!("../fixtures/promise_engine.toml");

#[test]
fn the_four_valid_transitions_happen_and_all_others_are_rejected() {
    check_transitions(CONFIG, "scene", include_str!("engine.txt"));
}

/// Milliseconds from the entry of the current state until its timeout; later on a busy machine.
async fn limit(server: &Server, job: &Value) -> i64 {
    let explained = server.read(&path(job, "explain")).await;
    let timeout = find(&explained["clocks"], "trigger", "timeout");
    let job = server.job(job).await;
    millis(&timeout["at"]) - millis(&job["entered"][job["state"].as_str().unwrap()])
}

#[test]
fn each_state_has_its_documented_timeout() {
    on_both_stores_with_config(CONFIG, async |server| {
        let job = new_job(&server, "scene", json!({})).await;
        assert!((30_000..40_000).contains(&limit(&server, &job).await));
        let held = claim(&server, &job, "engine_01").await.remove(0);
        assert!((10_000..20_000).contains(&limit(&server, &job).await));
        server.report_ok(&held, "start", json!({})).await;
        assert!((60_000..70_000).contains(&limit(&server, &job).await));
    });
}

/// A job in this state, whose engine sends nothing more.
async fn abandoned(server: &Server, kind: &str) -> Value {
    let job = new_job(server, kind, json!({})).await;
    match kind {
        "short_queue" => {}
        "short_dispatch" => drop(claim(server, &job, "engine_01").await),
        _ => drop(claim_started(server, &job, "engine_01").await),
    }
    server.job_when(&job, "state", "failed").await
}

#[test]
fn every_failure_has_a_state_a_reason_an_event_a_metric_and_a_log_line() {
    on_both_stores_with_config(CONFIG, async |server| {
        let reported = new_job(&server, "scene", json!({})).await;
        let held = claim_started(&server, &reported, "engine_01").await;
        let error = json!({ "code": "BAD_ASSET", "message": "corrupted_texture.png" });
        let reported = server.report_ok(&held, "fail", json!({ "error": error })).await;
        assert_eq!(reported["error"]["text"], "BAD_ASSET: corrupted_texture.png");
        let cases = [
            (reported, "BAD_ASSET", "engine"),
            (abandoned(&server, "short_queue").await, "QUEUE_TIMEOUT", "queue"),
            (abandoned(&server, "short_dispatch").await, "DISPATCH_TIMEOUT", "system"),
            (abandoned(&server, "short_run").await, "RUN_TIMEOUT", "engine"),
            (abandoned(&server, "fragile").await, "HEARTBEAT_LOST", "system"),
        ];
        let metrics = server.metrics().await;
        for (job, code, category) in cases {
            assert_eq!((&job["state"], &job["outcome"]), (&json!("failed"), &json!("failed")), "{code}");
            assert_fields(&job["error"], json!({ "code": code, "category": category }));
            assert_timestamps(&job);
            let last = server.events(&job).await.pop().unwrap();
            assert_eq!((&last["type"], &last["to"]), (&json!("JOB_FAILED"), &json!("failed")), "{code}");
            let count = metrics.sum("tenure_failures_total", &[&format!("category=\"{category}\"")]);
            assert!(count >= Some(1.0), "{code}: {count:?}");
            let (logs, id) = (server.logs(), id(&job));
            assert!(logs.lines().any(|line| line.contains(id) && line.contains(code)), "{code}: {logs}");
        }
    });
}

#[test]
fn an_engine_without_heartbeats_fails_all_of_its_jobs() {
    on_both_stores_with_config(CONFIG, async |server| {
        let mut jobs = Vec::new();
        for _ in 0..3 {
            let job = new_job(&server, "fragile", json!({})).await;
            claim_started(&server, &job, "engine_01").await;
            jobs.push(job);
        }
        for job in &jobs {
            let finished = server.job_when(job, "state", "failed").await;
            assert_fields(&finished, json!({ "/error/code": "HEARTBEAT_LOST", "worker": "engine_01" }));
        }
    });
}

#[test]
fn every_job_is_queued_once_and_completes_or_fails_once_in_the_journal() {
    const JOBS: usize = 60;
    on_both_stores_with_config(CONFIG, async |server| {
        let server = std::sync::Arc::new(server);
        let mut lives = tokio::task::JoinSet::new();
        for n in 0..JOBS {
            let server = std::sync::Arc::clone(&server);
            lives.spawn(async move {
                let job = new_job(&server, "scene", json!({})).await;
                let held = claim(&server, &job, &format!("engine_{n}")).await.remove(0);
                server.report_ok(&held, "start", json!({})).await;
                server.report_ok(&held, "progress", json!({ "progress": 50 })).await;
                let (verb, more) =
                    if n % 3 == 0 { ("fail", json!({ "error": {} })) } else { ("succeed", json!({})) };
                server.report_ok(&held, verb, more).await;
            });
        }
        lives.join_all().await;
        let mut kinds_by_job: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for event in server.journal().await {
            let kind = event["type"].as_str().unwrap().to_owned();
            kinds_by_job.entry(event["job_id"].to_string()).or_default().push(kind);
        }
        assert_eq!(kinds_by_job.len(), JOBS);
        let ends = |end: &str| {
            let whole = ["JOB_QUEUED", "JOB_DISPATCHED", "JOB_RUNNING", end];
            kinds_by_job.values().filter(|kinds| **kinds == whole).count()
        };
        assert_eq!((ends("JOB_FAILED"), ends("JOB_COMPLETED")), (JOBS / 3, JOBS - JOBS / 3));
    });
}

#[test]
fn a_finished_job_has_every_timestamp_and_progress() {
    on_both_stores_with_config(CONFIG, async |server| {
        let job = new_job(&server, "scene", json!({})).await;
        let held = claim_started(&server, &job, "engine_local_01").await;
        let half = server.report_ok(&held, "progress", json!({ "progress": 40 })).await;
        assert_fields(&half, json!({ "state": "running", "progress": 40 }));
        let finished = server.report_ok(&held, "succeed", json!({ "result": { "scene": 1 } })).await;
        let entered = ["queued", "dispatched", "running", "completed"];
        assert!(entered.map(|state| millis(&finished["entered"][state])).is_sorted(), "{finished}");
        assert_fields(&finished, json!({ "worker": "engine_local_01", "retry_count": 0 }));
        assert_fields(&finished, json!({ "error": null, "result": { "scene": 1 } }));
        assert_timestamps(&finished);
        let kinds = server.column(&path(&job, "events?telemetry=true"), "type").await;
        let is_progress = |kind: &Value| kind.as_str().unwrap().eq_ignore_ascii_case("job_progress");
        assert!(kinds.iter().any(is_progress), "{kinds:?}");
    });
}

#[test]
fn the_old_names_of_states_still_find_their_jobs() {
    on_both_stores_with_config(CONFIG, async |server| {
        let job = new_job(&server, "scene", json!({})).await;
        let found = async |state: &str| {
            server.column(&format!("/api/jobs?lifecycle=engine&state={state}"), "id").await
        };
        let ids = [job["id"].clone()];
        assert_eq!(found("queued").await, ids);
        let held = claim_started(&server, &job, "engine_01").await;
        assert_eq!(found("started").await, ids);
        assert_eq!(found("running").await, ids);
        server.succeed(&held).await;
        assert_eq!(found("finished").await, ids);
        assert_eq!(found("completed").await, ids);
        assert_eq!(found("started").await, Vec::<Value>::new());
    });
}
